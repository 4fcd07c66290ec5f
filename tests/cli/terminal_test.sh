#!/usr/bin/env bash
# The program at a terminal: pages that fit, streams that are closed or gone, hints, and exit codes that mean the same everywhere.
#
#   terminal_test.sh PENSTOCK SOURCE_ROOT
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
root=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1
unset COLUMNS

problem=(--model case_study --cluster summit --devices 8 --mini-batch 64)
"$penstock" plan "${problem[@]}" --planner graphpipe --micro-batch 4 -o plan.yaml >plan.txt || fail "no plan"
cat >grid.yaml <<YAML
experiment: grid
models: [{name: case_study, mini_batch: [32]}]
clusters: [{name: summit, devices: [4]}]
planners: [spp, graphpipe]
YAML

# Pages fit the screen, whatever it is; elsewhere they are whole.
# on_screen COLUMNS COMMAND...: what a terminal so wide is sent on standard output.
on_screen() {
  local columns=$1
  shift
  script -qec "stty cols $columns; $(printf '%q ' "$@") 2>/dev/null" /dev/null </dev/null | tr -d '\r'
}
widest() { wc -L; }
if command -v script >/dev/null; then
  for columns in 60 80 120; do
    while read -r command; do
      # shellcheck disable=SC2086
      found=$(on_screen $columns "$penstock" $command | widest)
      ((found > 20 && found <= columns)) || fail "$command takes $found columns of $columns"
    done <<END
compare ${problem[*]} --planners spp,graphpipe,piper
run grid.yaml -o fits
run grid.yaml -o dry --dry-run
run $root/experiments/v_schedules.yaml -o study
plan ${problem[*]} --planner graphpipe --micro-batch 4
simulate plan.yaml --explain
planners
planners piper
schedules
models
clusters
model mmt --operators
schedule zbv --ranks 4 --microbatches 8
END
  done
  # Colour: heads bold, the best value green, only on a terminal; NO_COLOR and TERM=dumb turn it off.
  compared=(compare "${problem[@]}" --planners spp,graphpipe,gpipe_equal)
  NO_COLOR='' on_screen 120 "$penstock" "${compared[@]}" >colours
  [[ $(grep -c $'^\e\[1mplanner .*\e\[0m$' colours) == 1 ]] || fail "no bold head: $(cat -v colours)"
  grep -q $'^[a-z_, ]*graphpipe .*\e\[32m *[0-9.]*\e\[0m' colours || fail "no green value: $(cat -v colours)"
  NO_COLOR='' on_screen 120 "$penstock" plan "${problem[@]}" --planner graphpipe >colours
  grep -q $'\e\[1mstage' colours && ! grep -q $'\e\[32m' colours || fail "stages compete: $(cat -v colours)"
  for off in "NO_COLOR=1" "NO_COLOR= TERM=dumb"; do
    found=$(env $off script -qec "$(printf '%q ' "$penstock" "${compared[@]}") 2>/dev/null" /dev/null </dev/null)
    [[ $found != *$'\e'* ]] || fail "$off: still in colour"
  done
  [[ $(env NO_COLOR= "$penstock" "${compared[@]}" 2>/dev/null) != *$'\e'* ]] || fail "a pipe gets colours"
  expect 0 "not shown: " on_screen 100 "$penstock" compare "${problem[@]}" --planners spp
  found=$(on_screen 60 "$penstock" compare "${problem[@]}" --planners spp --wide | widest)
  ((found > 120)) || fail "--wide takes $found columns"
  found=$(COLUMNS=70 on_screen 120 "$penstock" planners piper | widest)
  ((found > 60 && found <= 70)) || fail "COLUMNS=70 gives $found columns"
else
  echo "script is not installed: pages on a terminal are not tested"
fi
found=$(COLUMNS=40 "$penstock" schedules | widest)
((found > 200)) || fail "a pipe gets $found columns"
# A name and an idea for each planner, a page for one, everything on request.
(($("$penstock" planners | widest) <= 80 && $("$penstock" planners | wc -l) <= 30)) || fail "the list of planners is long or wide"
(($("$penstock" planners piper | widest) <= 80)) || fail "a planner's page is wide"
expect 0 "filling and draining count, by GPipe's formula" "$penstock" planners piper
expect 0 "what it leaves out" "$penstock" planners --wide
expect 0 '"option' "$penstock" planners piper --json
expect 10 "'pipper' is unknown; did you mean 'piper'?" "$penstock" planners pipper
(($("$penstock" planners --json | grep -c '"summary"') == $("$penstock" planners | sed 1,2d | grep -c '^[a-z0-9_]*  '))) || fail "planners --json and the list differ"
commands=$("$penstock" --help | awk '/^Subcommands:$/ { inside = 1; next } /^$/ { inside = 0 } inside && /^  [a-z]/ { print $1 }')
for command in "" $commands "calibrate verify" "calibrate report" "calibrate coverage" "calibrate cluster" "import pipedream-graph" "import piper-json" "import kernels" "import hf" "import megatron" "calibrate fit"; do
  # shellcheck disable=SC2086
  found=$("$penstock" $command --help | widest)
  ((found > 40 && found <= 80)) || fail "the help of '$command' takes $found columns"
done

# The program names first steps, and help by name.
expect 0 "  1. Find a plan for a network on a cluster, and write it to plan.yaml:" "$penstock"
(($("$penstock" | grep -c "^  [0-9]\. ") == 3)) || fail "the overview names other than three things to do"
((  $("$penstock" | widest) <= 80 )) || fail "the overview is wide"
[[ $("$penstock" help plan) == "$("$penstock" plan --help)" ]] || fail "help plan is another help"
[[ $("$penstock" help calibrate verify) == "$("$penstock" calibrate verify --help)" ]] || fail "help calibrate verify is another help"
[[ $("$penstock" help) == "$("$penstock" --help)" ]] || fail "help is another help"
expect 10 "'plann' is not a command; did you mean 'plan'?" "$penstock" help plann
expect 10 "plan has no sub-commands" "$penstock" help plan spp
expect 10 "'--modle' is not an option of penstock plan; did you mean '--model'?" "$penstock" plan --modle mmt
expect 10 "'--micro-bach' is not an option of penstock plan; did you mean '--micro-batch'?" "$penstock" plan "${problem[@]}" --micro-bach=4
expect 10 "'--point' is not an option of penstock calibrate verify; did you mean '--points'?" "$penstock" calibrate verify --point 3
expect 10 "'verfy' is not a command; did you mean 'verify'?" "$penstock" calibrate verfy
expect 10 "'--verson' is not an option of penstock; did you mean '--version'?" "$penstock" --verson
expect 10 "'--frobnicate' is not an option of penstock plan; see penstock plan --help" "$penstock" plan --frobnicate

# Clusters by name, from any folder.
expect 0 "32 v100" "$penstock" clusters
for file in "$root"/experiments/clusters/*.yaml; do
  name=$(basename "$file" .yaml)
  diff "$file" <("$penstock" clusters "$name") >/dev/null || fail "$name is another cluster than $file"
done
(($("$penstock" clusters --json | grep -c '"name"') == $(ls "$root"/experiments/clusters/*.yaml | wc -l))) || fail "clusters are left out"
(cd / && "$penstock" simulate "$scratch/plan.yaml" >/dev/null) || fail "a built-in cluster is not found from elsewhere"
expect 11 "'sumit' is no built-in cluster" "$penstock" plan --model case_study --cluster sumit --mini-batch 64
sed 's/summit/sumit/' grid.yaml >wrong.yaml
expect 11 "wrong.yaml:3: clusters[0].name: 'sumit' is no built-in cluster (and no file: those have a '.' or a '/'; nor a short form such as 8xH100x4); did you mean 'summit'?" "$penstock" run wrong.yaml
sed 's/name: summit/name: summit, file: summit.yaml/' grid.yaml >wrong.yaml
expect 11 "wrong.yaml:3: clusters[0]: give either name or file" "$penstock" run wrong.yaml

# One fault has one exit code wherever it is met.
sed 's/16GiB/1GiB/' "$root/experiments/clusters/summit.yaml" >small.yaml
while IFS='|' read -r code fault flags; do
  for command in plan compare; do
    [[ $command == plan ]] && option=--planner || option=--planners
    [[ $flags == *PLANNER* ]] || flags+=" PLANNER spp"
    given=${flags//PLANNER/$option}
    # shellcheck disable=SC2086
    "$penstock" $command $given -o bad >out 2>&1
    status=$?
    ((status == code)) || fail "$fault: $command $given: exit $status, expected $code: $(tail -n 1 out)"
    ((status == 10 || status == 11)) && [[ -e bad || -e bad.csv ]] && fail "$fault: $command wrote a file"
    rm -f bad bad.*
  done
done <<END
0|nothing|--model case_study --cluster summit --devices 4 --mini-batch 32
10|no model|--cluster summit --mini-batch 32
10|no cluster|--model case_study --mini-batch 32
10|no mini-batch|--model case_study --cluster summit
10|mini-batch of none|--model case_study --cluster summit --mini-batch 0
10|mini-batch in words|--model case_study --cluster summit --mini-batch many
10|no devices|--model case_study --cluster summit --devices 0 --mini-batch 32
10|unknown option|--model case_study --cluster summit --mini-batch 32 --device 4
10|unknown planner|--model case_study --cluster summit --devices 4 --mini-batch 32 PLANNER sppp
10|unknown optimizer|--model case_study --cluster summit --mini-batch 32 --optimizer adamm
10|bad ratio|--model case_study --cluster summit --mini-batch 32 --gradient-compression 2
10|bad time|--model case_study --cluster summit --mini-batch 32 --time-limit soon
10|bad memory|--model case_study --cluster summit --mini-batch 32 --memory-limit much
10|flag without its other|--model case_study --cluster summit --mini-batch 32 --allow-foreign
11|unknown model|--model case_studdy --cluster summit --mini-batch 32
11|model file missing|--model none.yaml --cluster summit --mini-batch 32
11|model parameter unknown|--model case_study -p depth=3 --cluster summit --mini-batch 32
11|cluster unknown|--model case_study --cluster sumit --mini-batch 32
11|cluster file missing|--model case_study --cluster none.yaml --mini-batch 32
11|cluster file malformed|--model case_study --cluster grid.yaml --mini-batch 32
11|more devices than there are|--model case_study --cluster summit --devices 33 --mini-batch 32
11|costs missing|--model case_study --cluster summit --mini-batch 32 --costs none.yaml
20|no plan uses all devices|--model case_study --cluster summit --mini-batch 1
20|no plan fits|--model dlrm --cluster small.yaml --devices 4 --mini-batch 64
31|out of time|--model case_study --cluster summit --devices 8 --mini-batch 64 --time-limit 0s
31|out of memory|--model case_study --cluster summit --devices 8 --mini-batch 64 --memory-limit 0B
END
expect 10 "unknown option 'flash'" "$penstock" plan "${problem[@]}" --planner piper --option flash=true
expect 10 "unknown option 'flash'" "$penstock" compare "${problem[@]}" --planners piper:flash=true

# Without a reader of standard error the run goes on. Without a reader of the results there is an error.
compare=("$penstock" compare "${problem[@]}" --planners spp,graphpipe)
"${compare[@]}" >whole.txt 2>/dev/null
for to in '2>/dev/full' '2>&-' '2> >(true)' '2>&- <&-'; do
  bash -c '"$@" '"$to"' >told.txt' - "${compare[@]}"
  status=$?
  ((status == 0)) && [[ $(wc -l <told.txt) == $(wc -l <whole.txt) ]] || fail "$to: exit $status"
  bash -c '"$@" '"$to"' >told.txt' - "$penstock" run grid.yaml -o quiet
  status=$?
  ((status == 0)) && [[ -s quiet/results.csv && $(wc -l <quiet/results.csv) == 3 ]] || fail "run with $to: exit $status"
  rm -rf quiet
done
expect 11 "cannot write to standard output" bash -c '"$@" >&-' - "$penstock" models
[[ -w /dev/full ]] && expect 11 "cannot write to standard output" bash -c '"$@" >/dev/full' - "$penstock" --help
"$penstock" planners | true
((PIPESTATUS[0] == 141 || PIPESTATUS[0] == 0)) || fail "a reader that went away: exit ${PIPESTATUS[0]}"

# Messages that are printed after the results come after them.
"$penstock" run grid.yaml -o told >both.txt 2>&1
[[ $(tail -n 1 both.txt) == "Done: 2 of 2 cells; results in told/"* ]] || fail "'Done' is not the last line: $(tail -n 3 both.txt)"

# Nothing follows the bar of a run on its line: not the table, not what an interrupt leaves.
if command -v script >/dev/null; then
  cat >bar.yaml <<YAML
experiment: bar
models: [{name: case_study, mini_batch: [32]}, {name: inception_v3, mini_batch: [4096]}]
clusters: [{name: summit, devices: [4, 32]}]
planners: [spp, graphpipe]
YAML
  for how in "" "timeout -s INT 0.5"; do
    script -qec "stty cols 100; $how $(printf '%q' "$penstock") run bar.yaml -j 1 -o bar" /dev/null </dev/null >screen
    grep -q '\[##*\.*\] [0-9]*/8' screen || fail "no bar is drawn: $(cat -v screen)"
    tr -d '\r' <screen | sed 's/.*\x1b\[K//' | grep -E '\] [0-9]+/8.*(model  |penstock:|Interrupted|Done)' && fail "the bar runs into the next line"
    rm -rf bar
  done
fi

# Names do not command the terminal.
escape=$'\e'
evil() { "$penstock" plan --mini-batch 8 --model "${1:-mmt}" --cluster "${2:-summit}" --planner "${3:-piper}" --option "${4:-flush=true}"; }
for argument in 1 2 3 4; do
  names=("" "" "" "")
  names[argument - 1]="evil${escape}[31m"
  evil "${names[@]}" >out 2>&1
  grep -qF 'evil\u001b[31m' out && ! grep -q "$escape" out || fail "an escape in name $argument: $(cat -v out)"
done
expect 11 'evil\u009b31m' evil $'evil\u009b31m'

# A terminal that goes away leaves tables, as Ctrl-C does; under nohup it changes nothing.
cat >long.yaml <<YAML
experiment: long
models: [{name: case_study, mini_batch: [32]}, {name: inception_v3, mini_batch: [4096]}]
clusters: [{name: summit, devices: [4, 32]}]
planners: [spp, graphpipe]
YAML
env --default-signal=HUP "$penstock" run long.yaml -j 1 -o hung >hung.out 2>hung.err &
running=$!
for ((i = 0; i < 200; i++)); do [[ -s hung.err ]] && break; sleep 0.05; done
kill -HUP $running
sleep 0.1
kill -HUP $running 2>/dev/null
wait $running
status=$?
((status == 30)) && [[ -s hung/table.txt && -s hung/results.csv ]] || fail "SIGHUP: exit $status: $(cat hung.err)"
(trap '' HUP; exec "$penstock" run grid.yaml -o kept >kept.out 2>&1) &
running=$!
sleep 0.2
kill -HUP $running 2>/dev/null
wait $running
status=$?
((status == 0)) || fail "SIGHUP under nohup: exit $status"

exit $((failures > 0))
