#!/usr/bin/env bash
# An answer that breaks a limit is printed with a warning, whichever command prints it; other numbers are as printed.
#
#   doubts_test.sh PENSTOCK
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

cat >m.json <<'END'
{"penstock": "model", "version": 2, "name": "m", "element_bytes": 4, "operators": [
 {"name": "x", "kind": "input", "inputs": [], "output_bytes": 4096},
 {"name": "a", "kind": "profiled", "inputs": ["x"], "forward_flops": 1e9, "input_gradient_flops": 1e9,
  "weight_gradient_flops": 1e9, "parameters": 1000, "output_bytes": 4096, "kept_bytes": 4096}]}
END
# 3 GFLOP in 3 us are 64 times the 15.7 TFLOP/s of a V100.
printf '%s\n' 'penstock_profile: 1' 'device: V100' 'operators: {a: {total: {1: 3us}}}' >fast.yaml
problem=(--model m.json --cluster summit --devices 1 --mini-batch 4 --costs fast.yaml)
cause="no device computes faster than its peak; the costs (profile of V100) most likely have times in another unit"
expect 0 "$cause" "$penstock" plan "${problem[@]}" --planner spp -o plan.yaml
expect 0 "\"doubts\": [" "$penstock" plan "${problem[@]}" --planner spp --json
expect 0 "penstock: warning: MFU" "$penstock" plan "${problem[@]}" --planner spp --json
expect 0 "$cause" "$penstock" simulate plan.yaml --costs fast.yaml
expect 0 "penstock: warning: MFU" "$penstock" simulate plan.yaml --costs fast.yaml --json
expect 0 "$cause" "$penstock" compare "${problem[@]}" --planners spp,data_parallel
expect 0 "$cause" "$penstock" improve plan.yaml --costs fast.yaml --evaluations 1
printf '%s\n' 'experiment: e' 'models: [{name: m.json, mini_batch: [4]}]' 'clusters: [{name: summit, devices: [1]}]' 'planners: [spp]' \
  'costs: fast.yaml' >e.yaml
expect 0 "penstock: warning: m.json on 1 devices of summit, spp: MFU" "$penstock" run e.yaml -o rows
[[ $("$penstock" plan --model m.json --cluster summit --devices 1 --mini-batch 4 --planner spp 2>&1) != *warning* ]] ||
  fail "a true answer is doubted"

# The least of the rates is that of the longest run.
"$penstock" plan --model case_study --cluster summit --devices 2 --mini-batch 8 --planner spp -o plan.yaml >/dev/null 2>&1
echo 'jitter: {forward: {lognormal: 20%}}' >jitter.yaml
"$penstock" simulate plan.yaml --perturbation jitter.yaml --runs 20 --json >runs.json
python3 - <<'END' || fail "rates of runs"
import json
runs = json.load(open("runs.json"))
times, rates = runs["iteration_s"], runs["samples_per_s"]
assert rates["min"] < rates["median"] < rates["max"], rates
assert abs(rates["min"] * times["max"] - 8) < 1e-9 and abs(rates["max"] * times["min"] - 8) < 1e-9
END

# A number of a process that is not one of this job's would leave work without a process.
expect 11 "OMPI_COMM_WORLD_RANK is 1 of 1 processes: start Penstock by mpirun, or unset this variable" \
  env OMPI_COMM_WORLD_RANK=1 "$penstock" run e.yaml -o other

# Every error that comes from a file names the file.
config='{"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8, "n_positions": 8, "vocab_size": 16}'
echo "${config/\"n_head\": 2/\"n_head\": 4000}" >config.json
expect 11 "config.json: model gpt: parameter heads" "$penstock" plan --model config.json --cluster summit --devices 2 --mini-batch 4
expect 11 "config.json: model gpt: parameter heads" "$penstock" import hf config.json
echo 'operators: {b: {total: {1: 1ms}}}' | cat <(printf 'penstock_profile: 1\ndevice: V100\n') - >other.yaml
expect 11 "other.yaml: operators: the profile of V100 has no operator 'a'" "$penstock" plan --model m.json --cluster summit --devices 1 \
  --mini-batch 4 --planner spp --costs other.yaml
sed 's/name: case_study/name: no_model/' plan.yaml >no_model.yaml
expect 11 "no_model.yaml: unknown model 'no_model'" "$penstock" simulate no_model.yaml
mkdir locked && chmod 555 locked
[[ $(id -u) == 0 ]] || expect 11 "Permission denied" "$penstock" run e.yaml -o locked/rows
sed 's/^experiment: e/experiment: -o/' e.yaml >option.yaml
expect 11 "no - in front" "$penstock" run option.yaml

# Kernel times of another unit, by row where one row shows it.
gemm() { printf '%s\n' 'device,gemm_dtype,m,n,k,latency' "NVIDIA A100-SXM4-80GB,bfloat16,$1" >gemm.csv; }
gemm 4096,4096,4096,0.6 && expect 0 "1 products" "$penstock" import kernels gemm.csv -o tables.yaml
gemm 4096,4096,4096,0.0006 && expect 11 "gemm.csv:2: latency: expected milliseconds; this is 229065 TFLOP/s" "$penstock" import kernels gemm.csv -o t.yaml
gemm 64,64,64,0.000006 && expect 11 "gemm.csv:2: latency: expected milliseconds; this is 0.006 us" "$penstock" import kernels gemm.csv -o t.yaml
gemm 4096,4096,4096,600 && expect 11 "gemm.csv: latency: expected milliseconds; products reach 0.2291 TFLOP/s" "$penstock" import kernels gemm.csv -o t.yaml
printf '%s\n' 'device,op_name,nccl_dtype,num_gpus,message_size,latency' 'NVIDIA A100-SXM4-80GB,all_reduce,half,8,536870912,0.005' >nccl.csv
expect 11 "nccl.csv:2: latency: expected milliseconds; this is 187905 GB/s per rank" "$penstock" import kernels nccl.csv gemm.csv -o t.yaml

exit $((failures > 0))
