#!/usr/bin/env bash
# penstock rl, as a user meets it.
#
#   rl_test.sh PENSTOCK SOURCE
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
source=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
cp "$source/experiments/rl/grpo.yaml" job.yaml

expect 0 "128 + 128 GPUs: lag 0" "$penstock" rl job.yaml
expect 0 '"staleness"' "$penstock" rl job.yaml --json
expect 0 "" "$penstock" rl job.yaml --svg splits.svg
grep -q "colocated, on-policy" splits.svg || fail "splits.svg has no line of the colocated job"
cmp -s <("$penstock" rl job.yaml -j 1) <("$penstock" rl job.yaml -j 2) || fail "threads change the answer"

# The page shows this answer.
cmp -s <(sed -n '/^experiments\/rl.*:/,/^```/p' "$source/docs/rl.md" | sed '$d') <(cd "$source" && "$penstock" rl experiments/rl/grpo.yaml) ||
  fail "docs/rl.md shows another answer of its command"

# Training that is planned for each number of GPUs; numbers that are no whole nodes have no plan.
sed -e 's/^gpus: .*/gpus: 16/' -e 's/multiple_of: .*/multiple_of: 4/' -e 's/gpus_per_instance: 8/gpus_per_instance: 4/' \
  -e 's/training: .*/training: {model: llama, parameters: {layers: 2}, gpu: H100, mini_batch: 64}/' job.yaml >planned.yaml
expect 0 "no plan for 12 + 4 GPUs: 12 GPUs are no whole nodes of 8 H100" "$penstock" rl planned.yaml

# Ctrl-C ends a long job. Before the simulation begins, it ends the program with another code. In the foreground the
# signal comes once: a second one ends the program at once.
sed '$a steps: 20000' job.yaml >long.yaml
for seconds in 1 3 9; do
  timeout --foreground --preserve-status -s INT "$seconds" "$penstock" rl long.yaml >/dev/null 2>&1
  status=$?
  ((status == 30)) && break
done
((status == 30)) || fail "an interrupted job ends with $status"

# Refusals.
sed 's/lag: 1/lags: 1/' job.yaml >bad.yaml
expect 11 "bad.yaml:5: lags: unknown key" "$penstock" rl bad.yaml
echo "placement: colocated" | cat job.yaml - >bad.yaml
expect 11 "lag must be 0" "$penstock" rl bad.yaml
sed 's/multiple_of: 16/multiple_of: 255/' job.yaml >bad.yaml
expect 20 "no split of 256 GPUs" "$penstock" rl bad.yaml
echo "placement: {trainer: 128, generator: 128}" | cat job.yaml - >one.yaml
expect 11 "--svg draws several splits" "$penstock" rl one.yaml --svg one.svg
expect 11 "absent.yaml" "$penstock" rl absent.yaml

((failures == 0)) && echo "penstock rl behaves"
exit $((failures > 0))
