#!/usr/bin/env bash
# plan and improve for other ends than time, the default of plan, and pareto.
#
#   aims_test.sh PENSTOCK SOURCE_ROOT
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
root=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

problem=(--model case_study -p layers=1 --cluster summit --devices 4 --mini-batch 32 --optimizer adam)
plan=("$penstock" plan "${problem[@]}")
quick=("${plan[@]}" --option evaluations=200 --option starts=quick)
day=$root/experiments/imperfect/bad_day.yaml
number() { python3 -c 'import json, sys; print(eval("row" + sys.argv[2], {"row": json.load(open(sys.argv[1]))}))' "$@"; }
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'; }

# joint searches where no planner is named, and is as fast as another planner's plan.
expect 0 "samples/s" "${plan[@]}" -o default.yaml
expect 0 "planner: joint" cat default.yaml
"${plan[@]}" --json >default.json 2>/dev/null
"${plan[@]}" --planner graphpipe --json >graphpipe.json 2>/dev/null
below "$(number default.json '["iteration_s"]')" "$(number graphpipe.json '["iteration_s"]')" || fail "joint is slower than graphpipe"

# p95: of the seeds that are named, equal for any number of threads, and as simulate has it.
expect 0 "p95: 95 % of iterations take at most" "${quick[@]}" --aim p95 --perturbation "$day" --seeds 10 --seed 3 -o robust.yaml
"${quick[@]}" --aim p95 --perturbation "$day" --seeds 10 --seed 3 --json -j 1 >one.json 2>/dev/null
"${quick[@]}" --aim p95 --perturbation "$day" --seeds 10 --seed 3 --json -j 3 >three.json 2>/dev/null
diff <(grep -vE 'search_s|judging_s|search_memory' one.json) <(grep -vE 'search_s|judging_s|search_memory' three.json) || fail "threads show in a robust plan"
simulated() { "$penstock" simulate "$1" --perturbation "$day" --seed 3 --runs 10 --json 2>/dev/null >runs.json; number runs.json '["iteration_s"]["p95"]'; }
[[ $(number one.json '["aim"]["value"]') == "$(simulated robust.yaml)" ]] || fail "simulate has another p95"
"${quick[@]}" -o fast.yaml >/dev/null 2>&1
below "$(simulated robust.yaml)" "$(simulated fast.yaml)" || fail "the robust plan is worse on bad days"
expect 0 "; seed 0: 1 slow device" "${quick[@]}" --aim p95 --perturbation "$root/experiments/imperfect/slow_device.yaml"
expect 10 "--aim p95 needs --perturbation FILE" "${quick[@]}" --aim p95 -o bad.yaml
expect 10 "--perturbation goes with --aim p95" "${quick[@]}" --perturbation "$day" -o bad.yaml
expect 10 "--seeds requires --perturbation" "${quick[@]}" --seeds 3 -o bad.yaml
expect 10 "did you mean 'cost'" "${quick[@]}" --aim costs -o bad.yaml
sed 's/node0.1/node0.7/' "$day" >noone.yaml
expect 11 "noone.yaml:" "${quick[@]}" --aim p95 --perturbation noone.yaml -o bad.yaml

# memory: by joint only, from a given plan too.
expect 0 "10 % above the fastest found" "${quick[@]}" --aim memory
expect 0 "50 % above the fastest found" "${quick[@]}" --aim memory --slower 50
expect 10 "plans for p95 are chosen by simulation" "${quick[@]}" --aim p95 --perturbation "$day" --choose-by estimate -o bad.yaml
expect 10 "planner spp searches for time alone" "${plan[@]}" --planner spp --aim memory -o bad.yaml
expect 10 "--slower goes with --aim memory" "${quick[@]}" --slower 50 -o bad.yaml
"${plan[@]}" --planner gpipe_equal -o given.yaml >/dev/null
expect 0 "5 % above the plan given" "$penstock" improve given.yaml --evaluations 200 --aim memory --slower 5 -o thrifty.yaml
expect 0 "p95: 95 % of iterations" "$penstock" improve given.yaml --evaluations 100 --aim p95 --perturbation "$day" --seeds 5

# cost: the plan names the devices that it uses; without prices nothing is searched.
expect 11 "cluster summit: device type v100 has no price" "${quick[@]}" --aim cost -o bad.yaml
expect 0 "per million samples on" "$penstock" plan "${problem[@]/summit/p3_16xlarge}" --planner graphpipe --aim cost -o cheap.yaml
expect 0 "devices: " cat cheap.yaml
expect 0 "samples/s" "$penstock" simulate cheap.yaml
[[ -e bad.yaml ]] && fail "a refused search left a plan"

# pareto: a table, a picture, the plans; again in their place, never in that of others.
front=("$penstock" pareto "${problem[@]/summit/p3_16xlarge}" --evaluations 100)
expect 0 "per million samples" "${front[@]}" -o front
[[ -s front.txt && -s front.json && -s front-1.yaml ]] || fail "pareto wrote no files"
expect 0 "costs: built-in efficiency curves (--costs)" tail -n 1 front.txt
expect 0 '"assumptions": {' cat front.json
expect 0 "</svg>" cat front.svg
expect 0 "samples/s" "$penstock" simulate front-1.yaml
cp front.txt before.txt
expect 0 "per million samples" "${front[@]}" -o front
cmp front.txt before.txt || fail "another front the second time"
echo mine >notes-2.yaml
expect 12 "notes-2.yaml is there" "${front[@]}" -o notes
[[ -e notes.txt ]] && fail "a refused front was written"
expect 31 "the time limit is over" "${front[@]}" --time-limit 0s
expect 0 '"dollars_per_sample"' "${front[@]}" --json

# compare: a picture beside the table.
expect 0 "spp" "$penstock" compare "${problem[@]}" --planners spp,graphpipe -o chart
expect 0 "leaves out: branches side by side" cat chart.svg
expect 0 "leaves out" "$penstock" planners spp

# compare for an aim: its column, the best first; what the aim needs is required.
few=(--planners spp,joint:evaluations=200:starts=quick)
compare=("$penstock" compare "${problem[@]}" "${few[@]}")
expect 0 "aim: memory" "${compare[@]}" --aim memory -o thrifty
expect 0 "ranked by memory of the fullest device" cat thrifty.svg
"${compare[@]}" --aim p95 --perturbation "$day" --seeds 10 --seed 3 --json >ranked.json 2>/dev/null
[[ $(number ranked.json '["results"][0]["planner"]') == joint* ]] || fail "joint is not the best for p95"
[[ $(number ranked.json '["results"][0]["aim"]["value"]') == $(number one.json '["aim"]["value"]') ]] || fail "compare and plan have another p95"
expect 0 "per million on" "$penstock" compare "${problem[@]/summit/p3_16xlarge}" "${few[@]}" --aim cost
expect 11 "device type v100 has no price" "${compare[@]}" --aim cost -o bad
expect 10 "--aim p95 needs --perturbation FILE" "${compare[@]}" --aim p95 -o bad
expect 10 "plans for memory are chosen by simulation" "${compare[@]}" --aim memory --choose-by estimate -o bad
[[ -e bad.txt ]] && fail "a refused comparison left a table"
exit $((failures > 0))
