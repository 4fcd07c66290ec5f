#!/usr/bin/env bash
# Replays by several processes, as a user starts them: same losses as one process, and an end when one dies.
#
#   processes_test.sh PENSTOCK SOURCE_ROOT fast|slow PROCESSES_TESTS
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
cluster=$(realpath "$2")/experiments/clusters/host.yaml
part=$3
tests=$(realpath "$4")
if ! command -v mpirun >/dev/null; then echo "skipped: no mpirun here"; exit 77; fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpi() { timeout 60 mpirun --oversubscribe "$@"; }

tiny=(--model case_study -p layers=1 -p hidden=64 -p heads=4 -p sequence=16 --cluster "$cluster" --mini-batch 8)
"$penstock" plan "${tiny[@]}" --devices 4 --planner gpipe_equal -o row.yaml >/dev/null
"$penstock" plan "${tiny[@]}" --devices 4 --planner data_parallel -o replicas.yaml >/dev/null
# Each of 2 processes has one of two groups, and two devices of the one; each of 4 processes has one device.
sed 's/^    micro_batch: .*/&\n    tensor_parallel: 2/' replicas.yaml >groups.yaml
sed 's/^    micro_batch: .*/&\n    tensor_parallel: 4/' replicas.yaml >group.yaml
sed 's/^    micro_batch: .*/&\n    context_parallel: {size: 2, by: ring}/' replicas.yaml >context.yaml

# same_losses N: as those of one process, bit by bit; and all files are there.
same_losses() {
  local plan processes=$1 file
  for plan in row replicas groups group context; do
    "$penstock" replay $plan.yaml --sequential --iterations 2 --losses one.csv >/dev/null
    mpi -n "$processes" "$penstock" replay $plan.yaml --iterations 2 --losses many.csv -o out >out.txt 2>&1 ||
      { fail "$plan, $processes processes"; cat out.txt; }
    cmp one.csv many.csv || fail "losses of $plan, $processes processes"
    [[ $(grep -c 'simulated: ' out.txt) == 1 ]] || fail "not one process prints"
    for file in comparison.csv comparison.json measured.pftrace measured.svg simulated.pftrace simulated.svg; do
      [[ -s out/$file ]] || fail "no $file"
    done
    rm -rf out many.csv
  done
}
# Tests in which all processes end, one after the other.
ends() {
  local name
  for name in "devices that no other*" "two processes on one*" "one process on the host*" "a library that fails*"; do
    mpi -n "$1" "$tests" --no-skip --test-suite=ends --test-case="$name" >tests.txt 2>&1 || { fail "$1 processes: $name"; cat tests.txt; }
    grep -q "1 passed" tests.txt || fail "no test: $name"
  done
}
same_weights() {
  mpi -n "$1" "$tests" >tests.txt 2>&1 || { fail "$1 processes"; cat tests.txt; }
}
# all_end CASE LEFT: of 2 processes those left find what they should.
all_end() {
  mpi --enable-recovery -n 2 "$tests" --no-skip --no-colors --test-case="$1" >tests.txt 2>&1
  [[ $(grep -c 'test cases: 1 | 1 passed' tests.txt) == "$2" ]] || { fail "$1"; cat tests.txt; }
}

# One process is killed in the middle. By default mpirun ends the others; else they do so themselves.
killed() {
  local status
  # shellcheck disable=SC2016
  mpi "$@" -n 2 bash -c '"$0" replay row.yaml --iterations 10000 -o killed --losses killed.csv & echo $! >pid.$OMPI_COMM_WORLD_RANK
    wait $!; status=$?; echo $status >status.$OMPI_COMM_WORLD_RANK; exit $status' "$penstock" >killed.txt 2>&1 &
  status=$!
  sleep 1
  kill -9 "$(cat pid.1)" || fail "nobody to kill"
  wait $status && [[ $# == 0 ]] && fail "a killed process, and mpirun is content"
  [[ ! -e killed && ! -e killed.tmp && ! -e killed.csv ]] || fail "a part of the results is left"
}

if [[ $part == slow ]]; then
  same_losses 4
  same_weights 4
  ends 4
  killed --enable-recovery
  grep -q "^penstock: device [01].* waits for .*; process 1 has not been heard of for 10 s" killed.txt ||
    { fail "no word of the end"; cat killed.txt; }
  [[ $(cat status.0) == 23 ]] || fail "exit code $(cat status.0)"
  all_end "a process dies in a collective: the other one ends" 1
else
  same_losses 2
  same_weights 2
  ends 2
  # A byte less than the fuller device took, more than the plan's stated need: poolings remember where they looked.
  "$penstock" plan --model resnet50 -p resolution=32 --cluster "$cluster" --devices 2 --mini-batch 2 --planner gpipe_equal -o pooled.yaml >/dev/null
  "$penstock" replay pooled.yaml --sequential --iterations 1 -o alone >/dev/null
  peak=$(sed -n 's/.*"peak_measured": \([0-9]*\).*/\1/p' alone/comparison.json | sort -n | tail -1)
  sed "s/5GiB/$((peak - 1))B/" "$cluster" >scarce.yaml
  expect 23 "out of memory" mpi -n 2 "$penstock" replay pooled.yaml --cluster scarce.yaml -o none
  all_end "a device fails in a collective: all end" 2
  expect 11 "not in sequential emulation" mpi -n 2 "$penstock" replay row.yaml --sequential -o none
  expect 11 "cuda" mpi -n 2 "$penstock" replay row.yaml --device cuda -o none
  expect 11 "of 5 processes, number 4 would have none of the plan's devices" mpi -n 5 "$penstock" replay row.yaml -o none
  [[ ! -e none ]] || fail "files of a replay that did not happen"
  killed
fi
((failures == 0)) && echo "several processes: all passed"
exit $((failures > 0))
