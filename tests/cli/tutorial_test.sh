#!/usr/bin/env bash
# Runs every command of docs/tutorial.md in a copy of what it uses.
#
#   tutorial_test.sh PENSTOCK SOURCE
set -uo pipefail
penstock=$(realpath "$1")
source=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/build/src/cli"
cp -r "$source/experiments" "$scratch/experiments"
ln -s "$penstock" "$scratch/build/src/cli/penstock"
cd "$scratch" || exit 1

commands=$(awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source/docs/tutorial.md")
[[ $(grep -c '^penstock' <<<"$commands") -ge 10 ]] || { echo "the tutorial has lost its commands"; exit 1; }
if ! bash -eu -c "$commands" >log 2>&1; then
  tail -n 20 log
  echo "a command of the tutorial fails"
  exit 1
fi
for file in plan.yaml timeline.svg changed.yaml mine/results.csv; do
  [[ -s out/tutorial/$file ]] || { echo "out/tutorial/$file is missing"; exit 1; }
done
# Numbers that the text states about the plan.
grep -qF 'PP8 (depth 3), 1F1B, mb 8: ' log || { echo "the tutorial's plan is another one"; exit 1; }
grep -qF 'SPP,' out/tutorial/mine/results.csv || { echo "the experiment has no label"; exit 1; }
grep -q 'recompute: true' out/tutorial/changed.yaml || { echo "nothing was changed by hand"; exit 1; }
