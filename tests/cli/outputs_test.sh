#!/usr/bin/env bash
# Files that a command writes are never its inputs, each other, or of another kind, unless --force says so.
#
#   outputs_test.sh PENSTOCK
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

"$penstock" plan --model case_study --cluster summit --devices 4 --mini-batch 32 --planner spp -o plan.yaml >/dev/null 2>&1
cp plan.yaml kept.yaml
ln -s plan.yaml link.yaml
unchanged() { cmp -s plan.yaml kept.yaml || fail "the plan was replaced"; cp kept.yaml plan.yaml; }

# Inputs, by whatever name.
for output in --svg --perfetto; do
  for name in plan.yaml ./plan.yaml link.yaml "$scratch/plan.yaml"; do
    expect 12 "$output $name: the command reads this file; choose another name, or --force" "$penstock" simulate plan.yaml $output "$name"
    unchanged
  done
done
expect 12 "the command reads this file" "$penstock" improve plan.yaml --evaluations 1 -o plan.yaml
expect 12 "the command reads this file" "$penstock" export plan.yaml --to pytorch --csv plan.yaml
unchanged
"$penstock" model case_study -o model.json >/dev/null
expect 12 "the command reads this file" "$penstock" plan --model model.json --cluster summit --devices 4 --mini-batch 32 --planner spp -o model.json
expect 0 "plan written to plan.yaml" "$penstock" improve plan.yaml --evaluations 1 -o plan.yaml --force

# Two outputs are two files, with --force too.
expect 10 "--svg and --perfetto are one file: ./a.svg" "$penstock" simulate plan.yaml --svg a.svg --perfetto ./a.svg
expect 10 "are one file" "$penstock" simulate plan.yaml --svg a.svg --perfetto ./a.svg --force
[[ ! -e a.svg ]] || fail "a picture was written"

# What is there of another kind stays; what the option wrote before is replaced.
echo "my notes, and more" >notes.txt
expect 12 "notes.txt: there is a file of another kind" "$penstock" simulate plan.yaml --svg notes.txt
expect 12 "kept.yaml: there is a file of another kind" "$penstock" simulate plan.yaml --perfetto kept.yaml
expect 12 "kept.yaml: there is a file of another kind" "$penstock" schedule 1f1b --ranks 2 --microbatches 2 --csv kept.yaml
[[ $(cat notes.txt) == "my notes, and more" ]] || fail "notes were replaced"
for turn in 1 2; do
  expect 0 samples/s "$penstock" simulate plan.yaml --svg a.svg --perfetto a.pftrace
  expect 0 samples/s "$penstock" simulate plan.yaml --perfetto a.json
  expect 0 makespan "$penstock" schedule 1f1b --ranks 2 --microbatches 2 --csv a.csv
done
expect 0 samples/s "$penstock" simulate plan.yaml --svg notes.txt --force
grep -q "<svg" notes.txt || fail "--force replaced nothing"
expect 12 "a.csv is there, and is no plan" "$penstock" plan --model case_study --cluster summit --devices 4 --mini-batch 32 --planner spp -o a.csv
expect 0 "plan written to a.csv" "$penstock" plan --model case_study --cluster summit --devices 4 --mini-batch 32 --planner spp -o a.csv --force

exit $((failures > 0))
