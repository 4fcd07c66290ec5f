#!/usr/bin/env bash
# The rehearsal of tools/gpu_day: all steps on the host, in short calls, until none is left.
#
#   gpu_day_test.sh BUILD SOURCE
set -uo pipefail
build=$1 root=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1
day() { "$root/tools/gpu_day" --build "$build" "$@"; }

expect 10 "no step is named 'calibrat'" day calibrat
expect 10 "--budget: expected whole seconds" day --budget 0
expect 10 "--device: expected host or cuda:N, not 'gpu'" day --device gpu
expect 10 "needs a value" day --out

code=3
for ((calls = 0; calls < 10 && code == 3; ++calls)); do
  day --device host --out day --budget 30 >day.out 2>&1
  code=$?
done
((code == 0)) || { fail "after $calls calls exit $code"; cat day.out; for log in day/*.log; do echo "== $log"; tail -5 "$log"; done; }
for step in machine tests calibrate families plans comparison whole; do
  grep -qF "| [$step]($step.log) | done |" day/summary.md || fail "$step is not done"
done
grep -qF '| [kernels](kernels.log) | skipped |' day/summary.md || grep -qF '| [kernels](kernels.log) | done |' day/summary.md || fail "kernels"
for n in 1 2 4; do
  [[ $(grep -c '^mmt-\|^candle_uno-' day/plans-$n/table.txt) == 6 ]] || fail "not six plans on $n"
done
for n in 2 8; do
  [[ $(grep -c '^gpt-.*sequential' day/whole-$n/table.txt) == 3 ]] || fail "not three plans of whole devices on $n"
done
# The times measured here and now decide which plans there are: every family has one, or a reason why not.
for family in 1f1b gpipe dapple list_order zb_h1 zb_h2 pipedream pipedream_2bw; do
  grep -qw -- "$family" day/families.log day/families-2/table.txt || { fail "nothing of $family"; cat day/families.log; }
done
tar -tzf day/all.tar.gz >day.list
grep -q '^./calibration-4.yaml$' day.list || fail "no calibration to fetch"
[[ -s day/calibration-1.cluster.yaml ]] || fail "no cluster file beside the calibration"
grep -q 'penstock plan --model .* --cluster calibration-1.cluster.yaml --costs calibration-1.yaml' day/calibrate.log || fail "no next command"

# Finished steps are not done again.
rm day/summary.seconds
before=$(cat day/*.seconds)
expect 0 "A day with host" day --device host --out day
rm day/summary.seconds
[[ $before == "$(cat day/*.seconds)" ]] || fail "a day that was done is done again"

# A device that is not there: what fails is noted, the next step is begun, and nothing pretends.
expect 1 "| [machine](machine.log) | failed with exit code" day --device cuda:77 --out none
grep -qF '| [tests](tests.log) | not run' none/summary.md && fail "after a failed step the day ended"
grep -qF '| [plans](plans.log) | waits for calibrate' none/summary.md || fail "plans without a calibration"

((failures == 0)) && echo "a rehearsed day: all passed in $calls calls"
exit $((failures > 0))
