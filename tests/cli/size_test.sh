#!/usr/bin/env bash
# penstock size, and simulate under failures, as a user meets them.
#
#   size_test.sh PENSTOCK
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

size=("$penstock" size --model llama -p layers=4 --tokens 20B)
eight=("${size[@]}" --gpus 8xH100)

# An exact cluster: the days are the answer. One file of each kind, and the plan.
expect 0 "a failure every 264 days" "${eight[@]}" --planner megatron -o one
for file in one.json one.txt one.csv one.svg one-1.yaml; do [[ -s $file ]] || fail "$file is missing"; done
expect 0 "samples/s" "$penstock" simulate one-1.yaml
expect 0 '"megatron' "${eight[@]}" --planner megatron -o one --json  # in place of the earlier files
echo mine >two.txt
expect 12 "two.txt" "${eight[@]}" --planner megatron -o two

# Assumptions are listed, and what was given is named as such.
expect 0 "a failure per 50677 device-hours (--mtbf-per-gpu)" "${eight[@]}" --planner megatron
expect 0 "given: a failure per 1000 device-hours" "${eight[@]}" --planner megatron --mtbf-per-gpu 1000h
expect 0 "checkpoints of 1.00 min" "${eight[@]}" --planner megatron --checkpoint 60s
expect 0 "no price is known, so no cost" "${size[@]}" --gpus 8xB200 --planner megatron
expect 0 "no runs of it were predicted" "${size[@]}" --gpus 8xMI300X --planner megatron

# A goal: smallest and cheapest, per kind of device; none is exit code 20.
expect 0 "smallest, cheapest" "${size[@]}" --gpus H100,A100-80 --days 3 --price A100-80=1.5 --planner megatron
expect 20 "no cluster that was tried meets the goal; 8xH100 is the fastest" "${eight[@]}" --days 0.001 --planner megatron
expect 20 "no cluster that was tried meets the goal" "${eight[@]}" --budget '1$' --planner megatron
expect 10 "--budget needs the price of b200: --price b200=DOLLARS" "${size[@]}" --gpus 8xB200 --budget '1M$'
expect 31 "a limit ended the search" "${size[@]}" --gpus H100 --days 3 --time-limit 1ms

# Bad input.
expect 10 "--tokens: expected a number of tokens such as 2T, 500B or 300M, not '2X'" \
  "$penstock" size --model llama3-8b --tokens 2X --days 3 --gpus H100
expect 10 "expected days above 0" "${size[@]}" --gpus H100 --days 0
expect 10 "--days is required for H100" "${size[@]}" --gpus H100
expect 10 "expected A100-40 or A100-80, by its memory" "${size[@]}" --gpus A100 --days 3
expect 10 "no GPU 'h900' is known" "${size[@]}" --gpus H900 --days 3
expect 10 "samples of dlrm have no tokens" "$penstock" size --model dlrm --mini-batch 64 --tokens 2T --gpus 8xH100
expect 10 "--price: expected TYPE=DOLLARS" "${eight[@]}" --price H100=free
expect 10 "--margin: expected a share" "${eight[@]}" --margin 17
expect 10 "--checkpoint: expected a time above 0" "${eight[@]}" --checkpoint 0s
expect 10 "--budget: expected dollars" "${eight[@]}" --budget lots
expect 10 "unknown planner 'megatrom'" "${eight[@]}" --planner megatrom

# Failures of a plan: the closed forms beside the simulation, and missing inputs by name.
failing=("$penstock" simulate one-1.yaml --mtbf 5h --checkpoint 60s --restart 5min)
expect 0 "needs --spares, --repair" "${failing[@]}"
expect 0 '"policy": "shrink"' "${failing[@]}" --spares 2 --repair 24h --json
expect 0 "restart" "${failing[@]}" --policy restart
expect 10 "--mtbf needs --checkpoint too" "$penstock" simulate one-1.yaml --mtbf 5h
expect 10 "--mtbf needs --restart too" "$penstock" simulate one-1.yaml --mtbf 5h --checkpoint 60s
expect 10 "--checkpoint" "$penstock" simulate one-1.yaml --checkpoint 60s
expect 10 "--mtbf: expected a time above zero" "$penstock" simulate one-1.yaml --mtbf never
expect 11 "--mtbf cannot be used with --perturbation" "${failing[@]}" --allow-oom

((failures == 0)) && echo "penstock size behaves"
exit $((failures > 0))
