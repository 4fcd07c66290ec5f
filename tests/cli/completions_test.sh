#!/usr/bin/env bash
# Completion scripts: bash's is called as readline calls it, fish's by fish; zsh reads its own. A shell that is not installed is
# skipped.
#
#   completions_test.sh PENSTOCK
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
touch plan.yaml 'two words.yaml'
mkdir folder

for shell in bash zsh fish; do "$penstock" completions $shell >$shell.script || fail "no script for $shell"; done

# shellcheck disable=SC1091
source ./bash.script
# bash_offers EXPECTED WORD...: EXPECTED, sorted, is just what is offered for the last word.
bash_offers() {
  local expected=$1 offered
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _penstock
  offered=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | paste -sd ' ')
  [[ $offered == "$expected" ]] || fail "bash, '$*': offered '$offered', expected '$expected'"
}
bash_offers "calibrate" penstock cal
bash_offers "schedule schedules" penstock sched
bash_offers "cluster coverage fit report verify" penstock calibrate ""
bash_offers "--mini-batch" penstock plan --mini
bash_offers "--memory-limit --micro-batch --mini-batch --model" penstock plan --m
bash_offers "graphpipe graphpipe_climb graphpipe_rows" penstock plan --planner graph
bash_offers "graphpipe graphpipe_climb graphpipe_rows" penstock plan --planner = graph
bash_offers "fair fifo" penstock plan --network ""
bash_offers "fair fifo" penstock plan --network =
bash_offers "spp,pipedream_2bw" penstock compare --planners spp,pipedream_2
bash_offers "resnet50,mmt" penstock calibrate --models resnet50,mm
bash_offers "folder" penstock run --output ""
bash_offers "plan.yaml" penstock simulate pl
bash_offers "two words.yaml" penstock simulate tw
bash_offers "--json" penstock calibrate report --j
bash_offers "" penstock plan --mini-batch ""
bash_offers "" penstock frobnicate
bash_offers "plan.yaml" penstock calibrate coverage file --model pl
bash_offers "zbv" penstock schedule zbv

# Completions offer the names that the program has.
models=$("$penstock" models --json | awk -F'"' '$2 == "name" { print $4 } $2 != "" && $3 ~ /^,?$/ { print $2 }' | LC_ALL=C sort | paste -sd ' ')
mkdir empty && cd empty || exit 1
bash_offers "$models" penstock model ""
cd ..
touch plan.yaml

if command -v zsh >/dev/null; then
  zsh -n zsh.script || fail "zsh cannot read its script"
  # Each specification passes through _arguments, which zsh's own completion would read.
  specifications=$(zsh -fc 'compdef() { }; _arguments() { print -rl -- "$@" }; _describe() { }; source ./zsh.script
    _penstock_plan; _penstock_calibrate') || fail "zsh's functions fail"
  for specification in '(--network)--network[how simulated transfers use a link\: fair, sharing it max-min]:NAME:(fair fifo)' \
    '*--parameter[a model parameter]:KEY=VALUE: ' '(-j --threads)--threads[threads to use]:N: ' '(--json)--json[print JSON instead of a table]'; do
    [[ $specifications == *"$specification"* ]] || fail "zsh's functions lack $specification"
  done
else
  echo "zsh is not installed: skipped"
fi

# fish_offers EXPECTED LINE: as bash_offers, descriptions apart.
fish_offers() {
  local offered
  offered=$(HOME=$scratch fish --no-config -c "source fish.script; complete -C '$2'" 2>&1 | cut -f 1 | LC_ALL=C sort | paste -sd ' ')
  [[ $offered == "$1" ]] || fail "fish, '$2': offered '$offered', expected '$1'"
}
if command -v fish >/dev/null; then
  fish -n fish.script || fail "fish cannot read its script"
  fish_offers "calibrate" "penstock cal"
  fish_offers "cluster coverage fit report verify" "penstock calibrate "
  fish_offers "--mini-batch" "penstock plan --mini"
  fish_offers "fair fifo" "penstock plan --network "
  fish_offers "spp,pipedream_2bw" "penstock compare --planners spp,pipedream_2"
  fish_offers "plan.yaml" "penstock simulate pl"
  fish_offers "" "penstock plan --mini-batch "
else
  echo "fish is not installed: skipped"
fi

((failures == 0)) && echo "all as expected"
exit $((failures > 0))
