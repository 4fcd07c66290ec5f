#!/usr/bin/env bash
# The command line as a user meets it: exit codes, messages, and nothing written on bad input.
#
#   cli_test.sh PENSTOCK SOURCE_ROOT
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
clusters=$(realpath "$2")/experiments/clusters
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1


any=("$penstock" plan --model case_study --cluster "$clusters/summit.yaml" --devices 8 --mini-batch 64)
plan=("${any[@]}" --planner graphpipe)
expect 0 "depth 5 of 8 stages" "${plan[@]}" --pipeline-micro-batch 4 -o plan.yaml
expect 0 "plan written to plan.yaml" "${plan[@]}" --pipeline-micro-batch 4 -o plan.yaml  # in place of the earlier one
echo "mine: all" >mine.yaml
expect 12 "mine.yaml exists and is not a plan file" "${plan[@]}" -o mine.yaml
expect 0 "mine: all" cat mine.yaml
expect 11 "did you mean 'summit'" "$penstock" clusters sumit
expect 0 "plan written to mixed.yaml" "${plan[@]}" --optimizer adam --precision mixed_bf16 -o mixed.yaml
expect 0 "training: {mini_batch: 64, optimizer: adam, precision: mixed_bf16}" cat mixed.yaml
expect 0 "verified: the simulated run breaks no rule" "$penstock" simulate mixed.yaml --verify
expect 0 "communication in order, one message at a time per device: " "$penstock" simulate mixed.yaml --communication in_order --verify
expect 10 "sideways" "$penstock" simulate mixed.yaml --communication sideways
expect 0 "traffic of the first device of each rank in one iteration" "$penstock" simulate mixed.yaml --traffic
expect 0 '"collective": "send"' "$penstock" simulate mixed.yaml --traffic --json
expect 10 "'' is no change" "$penstock" simulate mixed.yaml --what-if ""
expect 10 "-p layers: expected KEY=VALUE" "$penstock" plan --model gpt -p layers --gpus 8xH100
expect 11 "did you mean 'data_sheet'" "${plan[@]}" --costs datasheet
expect 11 "numbers of two bytes are replayed with gradients in them" "$penstock" replay mixed.yaml
expect 11 "weights in bf16 have 2 bytes, the model's numbers 4" "${plan[@]}" --precision mixed_bf16 -p element_bytes=4
expect 10 "mixed_bf61" "${plan[@]}" --precision mixed_bf61
expect 0 "host " "$penstock" devices
[[ -e /dev/nvidia0 ]] || expect 0 "no GPU: device 'cuda:0': " "$penstock" devices
expect 0 '"name": "host"' "$penstock" devices --json
expect 0 "70553.7 M parameters" "$penstock" model llama -p size=llama3-70b
expect 11 "parameter size: expected one of llama3-8b" "$penstock" model llama -p size=llama4

# Frameworks: a Hugging Face config in, Megatron-LM's arguments out and in again; what cannot be expressed is refused by name.
configs=$(realpath "$clusters/../../tests/frameworks/configs")
expect 0 "name: llama" "$penstock" import hf "$configs/llama3_8b.json" --tokens 4096
expect 0 "reference.yaml: LlamaForCausalLM as the zoo's llama, 261 operators, 8030261248 parameters" \
  "$penstock" import hf "$configs/llama3_8b.json" --tokens 4096 -o reference.yaml
expect 0 "8030.3 M parameters" "$penstock" model reference.yaml
expect 0 "llama: 261 operators" "$penstock" model "$configs/llama3_8b.json" -p sequence=64
expect 0 "46702.8 M parameters" "$penstock" model "$configs/mixtral_8x7b.json"
expect 11 "model_type: 'dbrx' routes tokens to experts" "$penstock" import hf <(sed 's/"mixtral"/"dbrx"/' "$configs/mixtral_8x7b.json")
expect 11 "is not known of gpt2" "$penstock" import hf <(sed 's/n_ctx/n_contexts/' "$configs/gpt2.json") -o none.yaml
expect 11 "\`penstock import hf --through torch\` reads more" "$penstock" import hf <(sed 's/"mixtral"/"dbrx"/' "$configs/mixtral_8x7b.json")

# --through torch hands over to Python: its words, its exit code, and what to install where it cannot.
expect 11 "cannot start '/no/python': No such file or directory; install Python" \
  env PENSTOCK_PYTHON=/no/python "$penstock" import hf "$configs/gpt2.json" --through torch
printf '%s\n' '#!/bin/sh' 'while [ "$1" != -- ]; do shift; done; shift; echo "arguments: $*"; exit 42' >python_stub
printf '%s\n' '#!/bin/sh' 'exec python3 -I -S "$@"' >python_bare
chmod +x python_stub python_bare
expect 42 "arguments: --tokens 8 --output=none.json -- $configs/gpt2.json" \
  env PENSTOCK_PYTHON=./python_stub "$penstock" import hf "$configs/gpt2.json" --through torch --tokens 8 -o none.json
expect 42 "arguments: plans" env PENSTOCK_PYTHON=./python_stub "$penstock" mcp plans
expect 11 "mcp: cannot start '/no/python'" env PENSTOCK_PYTHON=/no/python "$penstock" mcp
expect 10 "jax" "$penstock" import hf "$configs/gpt2.json" --through jax
if type python3 >/dev/null 2>&1; then
  expect 11 "has no penstock (pip install ./python of its repository), no torch, no transformers: install them with pip" \
    env PENSTOCK_PYTHON=./python_bare "$penstock" import hf "$configs/gpt2.json" --through torch
fi
expect 11 "unknown parameter 'layer'" "$penstock" model reference.yaml -p layer=2
[[ -e none.yaml ]] && fail "a refused config left a file"
cp "$configs/llama3_70b.json" config.json
from_config=("$penstock" plan --model config.json -p sequence=8192 --precision mixed_bf16 --optimizer adam --gpus 8xH100x12
  --mini-batch 128 --planner megatron --for any -o big.yaml)
expect 0 "PP6 x DP4 x TP4+SP, 1F1B, mb 1, ZeRO 1: 9.2 samples/s" "${from_config[@]}"  # as docs/examples.md shows it
expect 0 "Et*13|t*14|(t*13|)*2,t*14|t*13L" "$penstock" export big.yaml --to megatron --nearest run.yaml
expect 21 "Megatron-LM cannot cut inside layer 13: layer13.norm1 is in stage 0, layer13.add1 in stage 1" \
  "$penstock" export big.yaml --to megatron -o none.txt
[[ -e none.txt ]] && fail "a refused plan was handed over"
expect 0 "" "$penstock" export run.yaml --to megatron -o run.sh
expect 0 "back.yaml: llama, 70553.7 M parameters, PP6 x DP4 x TP4+SP, 1F1B, mb 1, ZeRO 1" \
  "$penstock" import megatron run.sh --gpus 8xH100x12 -o back.yaml
expect 0 "reserved: 2684354560B" cat back.yaml  # as plans that are searched
expect 0 "assumed: 2.50 GiB of each GPU reserved (--reserved)" "$penstock" import megatron run.sh --gpus 8xH100x12 -o back.yaml
expect 0 "adam, 8192 tokens per sample, with the loss, mini-batch 128, 2.50 GiB reserved" "$penstock" simulate back.yaml
expect 0 "no memory is reserved (--reserved): the plan does not leave 2.50 GiB of each GPU free" \
  "$penstock" import megatron <(sed 's/^--micro-batch-size 1$/--micro-batch-size 2/' run.sh) --gpus 8xH100x12 -o full.yaml
[[ $(grep -c reserved full.yaml) == 0 ]] || fail "a plan without room for a reserve has one"
expect 0 "70553.7 M" "$penstock" import megatron run.sh --gpus 8xH100x12 --reserved 9GiB -o more.yaml
expect 0 "reserved: 9663676416B" cat more.yaml
expect 0 "times as fast" "$penstock" improve back.yaml --layers --change cuts --evaluations 200 -o better.yaml
expect 0 "pipeline-model-parallel-size 6" "$penstock" export better.yaml --to megatron
expect 0 "plans that Megatron-LM can run (--for any)" "$penstock" improve back.yaml --evaluations 20 -o better.yaml
expect 0 "pipeline-model-parallel-size" "$penstock" export better.yaml --to megatron
expect 11 "begins inside a layer, at 'layer13.add1' or before" "$penstock" improve big.yaml --layers
expect 0 "times as fast" "$penstock" improve big.yaml --for megatron --evaluations 200 -o better.yaml
expect 0 "pipeline-model-parallel-size" "$penstock" export better.yaml --to megatron
expect 0 "70553.7 M parameters" "$penstock" model big.yaml  # the model of a plan
expect 11 "torchtitan gets plans of llama models only" "$penstock" plan --model gpt -p layers=2 --gpus 8xH100 --mini-batch 8 --for torchtitan
expect 0 "flash attention (-p attention=NAME)" "$penstock" plan --model gpt -p layers=2 --gpus 2xH100 --mini-batch 8 --for megatron \
  --option evaluations=50
expect 0 "mini-batch 128, 2.50 GiB reserved" "$penstock" improve back.yaml --layers --change cuts --evaluations 20
sed 's/, reserved: 2684354560B//' back.yaml >free.yaml
expect 0 "2.50 GiB reserved (--reserved)" "$penstock" improve free.yaml --layers --change cuts --evaluations 20

# A folder with a config and no options: name, precision, optimizer, tokens and reserve are assumed, and printed.
mkdir -p Qwen3-32B empty
cp "$configs/qwen3_32b.json" Qwen3-32B/config.json
qwen=("$penstock" plan --model Qwen3-32B/ --gpus 8xH100x8 --mini-batch 64 --planner megatron)
expect 0 "assumed: mixed_bf16 (--precision), adam (--optimizer), 4096 tokens per sample (-p sequence=N), with the loss (-p loss=no), 2.50 GiB reserved" \
  "${qwen[@]}" -o qwen.yaml
expect 0 "reserved: 2684354560B" cat qwen.yaml
expect 0 "given: mixed_bf16, adam, 4096 tokens per sample, with the loss, mini-batch 64, 2.50 GiB reserved" "$penstock" simulate qwen.yaml
expect 0 '"model": "Qwen3-32B"' "$penstock" simulate qwen.yaml --json
expect 0 "8.37 GiB reserved" "${qwen[@]}" --reserved deepspeed
expect 0 "sgd, 64 tokens per sample" "${qwen[@]}" --optimizer sgd -p sequence=64 --reserved 0
expect 20 "" "${qwen[@]}" --reserved 79GiB
expect 11 "90.0 GiB reserved of" "${qwen[@]}" --reserved 90GiB
expect 10 "expected bytes such as 2.5GiB, 0, or a framework; did you mean 'megatron'?" "${qwen[@]}" --reserved megatrn
# All searches of a released model state the same problem, and look among the plans of the same framework.
same_problem="plans that Megatron-LM can run (--for any)"
expect 0 "$same_problem" "$penstock" plan --model gpt3-6.7b --gpus 2xH100 --planner megatron
expect 0 "$same_problem" "$penstock" compare --model gpt3-6.7b --gpus 2xH100 --planners megatron
expect 0 "$same_problem" "$penstock" pareto --model gpt3-6.7b --gpus 2xH100 --evaluations 20
for search in "plan --planner" "compare --planners"; do
  expect 0 "flash attention (-p attention=NAME)" "$penstock" $search megatron --for any --model gpt3-6.7b --gpus 2xH100
done
expect 0 "Qwen3-32B, 64 devices of 8xH100x8" "$penstock" compare "${qwen[@]:2:6}" --planners megatron
expect 0 "mixed_fp16: a device states no bf16 rate (--precision)" "$penstock" plan --model Qwen3-32B -p layers=2 --cluster p3_16xlarge --devices 8 \
  --mini-batch 8 --planner megatron
expect 0 "assumed: fp32 (--precision), sgd (--optimizer)" "${plan[@]}"
expect 11 "empty/ is a folder without a config.json" "$penstock" model empty/
expect 0 "--rotary-base 1000000" "$penstock" export qwen.yaml --to megatron --nearest near.yaml
expect 0 "label: \"Qwen3-32B\"" "$penstock" import hf Qwen3-32B
expect 0 "precision: mixed_bf16" "$penstock" import hf Qwen3-32B

# Released networks by name: the zoo's family and size, with sequence, precision, optimizer and batch assumed.
released=("$penstock" plan --gpus 8xH100x12 --planner megatron)
expect 0 "assumed: mixed_bf16 (--precision), adam (--optimizer), 8192 tokens per sample (-p sequence=N), with the loss (-p loss=no), mini-batch 480 (--mini-batch, --tokens-per-batch), 2.50 GiB reserved" \
  "${released[@]}" --model llama3-70b -o released.yaml
expect 0 "  name: llama
  label: llama3-70b" cat released.yaml
expect 0 "size: llama3-70b" cat released.yaml
expect 0 "given: mixed_bf16, adam, 8192 tokens per sample, with the loss, mini-batch 480, 2.50 GiB reserved" "$penstock" simulate released.yaml
# 2 M tokens are 256 samples; the nearest multiple of 96 devices is 288. 200,000 tokens are 24 samples, too few for one per device.
expect 0 "given: mini-batch 288" "${released[@]}" --model llama3-70b --tokens-per-batch 2M
expect 0 "8192 tokens per sample (-p sequence=N), with the loss (-p loss=no), 2.50 GiB reserved (--reserved), framework megatron (--framework), costs: built-in efficiency curves (--costs), plans that Megatron-LM can run (--for any); given: mini-batch 64" \
  "${released[@]}" --model llama3-8b --devices 64 --tokens-per-batch 500000 --option max_context_parallel=2
expect 0 "given: mini-batch 288" "${released[@]}" --model llama3-70b --tokens-per-batch 2048K
expect 0 '"model": "llama3-70b layers=4"' "${released[@]}" --model llama3-70b -p layers=4 --for any --json
expect 10 "--mini-batch excludes --tokens-per-batch" "${released[@]}" --model llama3-70b --mini-batch 8 --tokens-per-batch 4M
expect 10 "expected a number of tokens such as 4M or 500K, not '4MB'" "${released[@]}" --model llama3-70b --tokens-per-batch 4MB
expect 10 "expected a number of tokens such as 4M or 500K, not '0'" "${released[@]}" --model llama3-70b --tokens-per-batch 0
expect 10 "--tokens-per-batch: samples of dlrm have no tokens; give --mini-batch" "${released[@]}" --model dlrm --tokens-per-batch 4M
expect 10 "--mini-batch is required: only language models have a default number of samples" "${released[@]}" --model mmt
expect 11 "unknown model 'llama3-70'; did you mean 'llama3-70b'?" "${released[@]}" --model llama3-70
expect 11 "there is no model file or folder 'qwen2.5-7c'; did you mean 'qwen2.5-7b'?" "${released[@]}" --model qwen2.5-7c
expect 11 "'llama3-8b' is a size of the family llama: drop the parameter size, or name llama" "$penstock" model llama3-8b -p size=llama2-7b
expect 0 "70553.7 M parameters" "$penstock" model llama3-70b
expect 0 "  llama: llama3-8b, llama3-70b, llama3-405b" "$penstock" models
printf 'experiment: released\nmodels: [{name: llama3-8b, parameters: {layers: [2, 4]}, mini_batch: [32]}]\nclusters: [{name: 8xH100}]\nplanners: [data_parallel]\n' >released_run.yaml
expect 0 "llama3-8b layers=4" "$penstock" run released_run.yaml -o released_out
# A table has seven columns, and all on request, in files as well.
for columns in "7 " "15 --columns all" "15 --wide"; do
  found=$("$penstock" simulate released.yaml ${columns#* } | head -n 1 | sed 's/   */\n/g' | grep -c .)
  ((found >= ${columns%% *} - 1 && found <= ${columns%% *})) || fail "simulate $columns prints $found columns"
done
expect 0 "not shown: in flight, weights, gradients" "$penstock" simulate released.yaml
expect 10 "expected main or all, not 'most'" "$penstock" simulate released.yaml --columns most
# Ten sentences about a plan.
expect 0 " 1. case_study is cut into 8 pipeline stages in a graph with 5 on its longest" "$penstock" explain plan.yaml
(($("$penstock" explain plan.yaml | wc -L) <= 80 && $("$penstock" explain plan.yaml | grep -c '^[ 1][0-9]\. ') == 10)) || fail "explain prints other than ten sentences in 80 columns"
expect 0 "in the order of 1F1B. Activations are kept until" "$penstock" explain plan.yaml --json
expect 0 '"about": "frameworks"' "$penstock" explain plan.yaml --json
expect 11 "none.yaml" "$penstock" explain none.yaml
expect 21 "stage 0" "$penstock" explain released.yaml --gpus 8xV100-16x12

# Labels of an experiment reach its tables; another label needs no new search.
labelled() {
  cat <<EXPERIMENT
experiment: labels
models: [{name: mmt, label: "MMT, small", parameters: {layers: 1}, mini_batch: [16]}]
clusters: [{name: summit, devices: [4], label: One node}]
planners: [spp, piper: {flush: true, label: $1}]
baseline: piper:flush=true
EXPERIMENT
}
labelled Piper >labels.yaml
expect 0 "Largest ratio" "$penstock" run labels.yaml --output labelled
expect 0 '"MMT, small",One node,4,Piper,16' cat labelled/results.csv
labelled Another >labels.yaml
expect 0 "times Another (MMT, small on 4 devices" "$penstock" run labels.yaml --output relabelled
expect 12 "run.sh exists and is not a plan file" "$penstock" improve back.yaml -o run.sh
expect 10 "'cut' is unknown; did you mean 'cuts'?" "$penstock" improve back.yaml --change cut
# torchtitan saves gathered inputs whole, which 80 GB do not hold.
sed 's/8xH100x12/8xH200x12/' run.yaml >roomy.yaml
expect 21 "GiB missing" "$penstock" export run.yaml --to torchtitan --nearest titan.yaml
expect 0 "ZeRO 0 or 2 or 3, not ZeRO 1" "$penstock" export roomy.yaml --to torchtitan --nearest titan.yaml
expect 0 "" "$penstock" export titan.yaml --to torchtitan --csv order.csv -o titan.py
expect 0 'pipeline_parallel_schedule_csv="order.csv",' cat titan.py
expect 0 'pipeline_parallel_schedule_csv = "order.csv"' "$penstock" export titan.yaml --to torchtitan --for-version 0.2 --csv order.csv
expect 11 "torchtitan 0.1 is not known; known: 0.3, 0.2" "$penstock" export titan.yaml --to torchtitan --for-version 0.1
expect 0 "DP8, 1F1B, mb 1, ZeRO 1" "$penstock" plan --model llama -p layers=4 --gpus 8xH100 --mini-batch 32 --for megatron --option evaluations=100 -o runnable.yaml
expect 0 "--tensor-model-parallel-size" "$penstock" export runnable.yaml --to megatron
expect 0 "given: mini-batch 32, framework megatron, plans that Megatron-LM can run" \
  "$penstock" plan --model llama -p layers=4 --gpus 8xH100 --mini-batch 32 --for megatron --planner spp -o runnable.yaml
expect 0 "--num-layers 4" "$penstock" export runnable.yaml --to megatron
expect 0 "plans that Megatron-LM can run (--for any)" "$penstock" plan --model llama3-8b -p layers=2 --gpus 8xH100
expect 0 "framework megatron (--framework), costs" \
  "$penstock" plan --model llama3-8b -p layers=2 --gpus 8xH100 --for any --planner data_parallel
expect 0 "note: Megatron-LM has no words for router_offset=yes of the model gpt-oss-120b" \
  "$penstock" plan --model gpt-oss-120b -p layers=2 --gpus 8xH100 --option evaluations=0
expect 0 "plans that accelerate can run" "$penstock" plan --model llama3-8b --gpus 8xH100 --for accelerate -o sharded.yaml
expect 0 "parallelism_config_dp_shard_size: 8" "$penstock" export sharded.yaml --to accelerate
expect 0 "samples/s" "$penstock" plan --model mmt --gpus 1xV100-16 --mini-batch 128  # searches that a cutoff empties
"$penstock" plan --model llama3-8b -p layers=4 --gpus 8xH100 --for torchtitan --planner data_parallel -o titan_plan.yaml >/dev/null 2>&1
expect 0 "framework torchtitan" "$penstock" simulate titan_plan.yaml
expect 0 "framework megatron" "$penstock" improve titan_plan.yaml --for megatron --evaluations 10
expect 10 "'torchtitn' is no training framework" "$penstock" plan --model llama3-8b --gpus 8xH100 --framework torchtitn
expect 0 "makespan" "$penstock" schedule order.csv
expect 10 "Megatron-LM reads no order of passes from a file" "$penstock" export run.yaml --to megatron --csv order.csv
expect 10 "'megatrn' is unknown; did you mean 'megatron'?" "$penstock" export run.yaml --to megatrn
expect 11 "num_layers: is not given" "$penstock" import megatron /dev/null --gpus 8xH100 -p vocabulary=8 -o none.yaml
expect 21 "case_study is none" "$penstock" export plan.yaml --to megatron
expect 0 "8xH100x4-rails" "$penstock" clusters 8xH100x4-rails
expect 11 "expected 1 to 8 H100 per node" "$penstock" plan --model dlrm --gpus 16xH100 --mini-batch 64
expect 11 "'H100x8' is no cluster: GPUs per node stand first, then their type: did you mean '8xH100'?" \
  "$penstock" plan --model dlrm --gpus H100x8 --mini-batch 64
expect 11 "there is no model file or folder 'Qwen3-32B/config.jsn'" "$penstock" model Qwen3-32B/config.jsn
expect 10 "--mini-batch: expected a whole number from 1 to 16777216, not '12.5'" "$penstock" plan --model dlrm --gpus 8xH100 --mini-batch 12.5
expect 0 "warning: a sample has 50000 tokens, but the model's config has 40960 positions" "${qwen[@]}" -p sequence=50000
expect 0 "heads              64       32 " "$penstock" model Qwen3-32B/  # the config's value beside the zoo's
# Files of another kind are known by their keys.
expect 11 "labels.yaml:1: experiment: unknown key: this is an experiment file, for \`penstock run\`" "$penstock" simulate labels.yaml
expect 11 "penstock_plan: unknown key: this is a plan file, for \`penstock simulate\`" "$penstock" run plan.yaml
# Common properties of stages are printed once.
expect 21 "its stages are on devices up to 95, but there are 16 (0 to 15)" "$penstock" simulate back.yaml --devices 16
expect 11 "126 is no multiple of micro_batch_size 1 x data-parallel size 4: the nearest are 124 and 128" \
  "$penstock" import megatron <(sed 's/^--global-batch-size 128$/--global-batch-size 126/' run.sh) --gpus 8xH100x12 -o none.yaml
expect 0 "samples/s" "$penstock" simulate plan.yaml --svg t.svg --perfetto t.json
expect 0 "samples/s" "$penstock" simulate plan.yaml --perfetto t.pftrace
[[ -s t.svg && $(head -c 1 t.json) == "{" && $(head -c 1 t.pftrace | od -An -tx1) == *0a ]] ||
  { echo "FAILED: no timeline was written"; failures=$((failures + 1)); }
expect 0 '"iteration_s"' "$penstock" simulate plan.yaml --json
expect 0 '"lower_bound": {' "$penstock" simulate plan.yaml --json
expect 0 "Lower bound for this plan, in any order with these in-flight counts: " "$penstock" simulate plan.yaml
expect 0 "samples/s" "$penstock" simulate plan.yaml --network fifo --collective ring --bucket 1MiB --verify
"${any[@]}" --planner data_parallel --micro-batch 1 -o whole.yaml >/dev/null
sed 's/^    micro_batch: 8  # of 8 replicas together, 1 each$/&\n    tensor_parallel: 4\n    zero: 1/' whole.yaml >groups.yaml
expect 0 "0 1 2 3 | 4 5 6 7, ZeRO 1" "$penstock" simulate groups.yaml --verify
expect 0 '"tensor_parallel": 4' "$penstock" simulate groups.yaml --json
for schedule in gpipe zb_h1 pipedream_2bw; do
  expect 0 "samples/s" "$penstock" simulate plan.yaml --schedule "$schedule" --verify
done
"$penstock" schedule zb_h2 --ranks 8 --microbatches 16 --csv own.csv >/dev/null
expect 0 "samples/s" "$penstock" simulate plan.yaml --schedule own.csv --verify
sed 's/\([0-9]*\)I0/\1R0,\1I0/' own.csv > own_again.csv
expect 11 "recomputes stage 0, the plan does not" "$penstock" simulate plan.yaml --schedule own_again.csv
expect 0 "Upper bound for list ordering" "$penstock" simulate plan.yaml --schedule list_order --verify
sed 's/^schedule: .*/schedule: zbw/' plan.yaml >other.yaml
expect 11 "other.yaml: schedule: unknown schedule 'zbw'" "$penstock" simulate other.yaml
expect 11 "plan.yaml: schedule: zbv: needs" "$penstock" simulate plan.yaml --schedule zbv
expect 0 "samples/s" "${plan[@]}" --pipeline-micro-batch 4 --network fair --choose-by estimate
expect 10 "did you mean 'fair'" "$penstock" simulate plan.yaml --network fare
for planner in dapple alpa_inter spp_luo; do
  expect 0 "samples/s" "$penstock" plan --model bert --cluster "$clusters/mixed.yaml" --mini-batch 64 --planner $planner -o row.yaml
  expect 0 "samples/s" "$penstock" simulate row.yaml --verify
done
expect 10 "alpa_inter" "${any[@]}" --planner alpa_intra

# Names of training frameworks lead to our options; misspelt arguments of Megatron-LM are refused.
expect 10 "'--global-batch-size' is not an option of penstock plan; here it is --mini-batch" "$penstock" plan --model gpt --gpus 8xH100 --global-batch-size 8
expect 10 "here it is --option max_zero=N, a limit of joint" "$penstock" plan --model gpt --gpus 8xH100 --mini-batch 8 --zero 1
expect 10 "here it is -p sequence=N" "$penstock" plan --model gpt --gpus 8xH100 --mini-batch 8 --seq-length 8
expect 10 "fp8 has four recipes: fp8_delayed, fp8_current" "$penstock" plan --model gpt --gpus 8xH100 --mini-batch 8 --precision fp8
expect 11 "nvfp4 multiplies at an fp4 rate, and h100 states none" "$penstock" plan --model gpt --gpus 8xH100 --mini-batch 8 --precision nvfp4
expect 10 "did you mean 'plan'?" "$penstock" plna --model gpt
expect 11 "Megatron-LM has no such argument; did you mean 'tensor_model_parallel_size'?" \
  "$penstock" import megatron <(sed 's/tensor-model-parallel-size/tensor-model-paralel-size/' run.sh) --gpus 8xH100x12 -o none.yaml

# A word that is no command; what was printed and did not arrive; files that are none.
expect 10 "'simulat' is not a command; did you mean 'simulate'?" "$penstock" simulat plan.yaml
expect 10 "'graph' is not a command; expected one of hf, megatron, pipedream-graph, piper-json, kernels, topo" "$penstock" import graph
expect 10 "PLAN is required" "$penstock" simulate
if [[ -w /dev/full ]]; then
  expect 11 "cannot write to standard output" bash -c '"$1" models >/dev/full' - "$penstock"
  expect 11 "cannot write" bash -c '"$1" simulate plan.yaml --explain 100000 --json >/dev/full' - "$penstock"
fi
expect 0 "</svg>" bash -c '"$1" simulate plan.yaml --svg >(cat) >table.txt' - "$penstock"
ln -s t.svg link.svg
expect 0 "samples/s" "$penstock" simulate plan.yaml --svg link.svg
[[ -L link.svg ]] || fail "a link became a file"

# Compressed messages: the plan states them, and simulate may change them.
squeezed=("${plan[@]}" --pipeline-micro-batch 4 --gradient-compression 0.25 --activation-compression 0.5)
expect 0 '"estimate_s"' "${squeezed[@]}" --json -o squeezed.yaml
expect 0 "compression: {gradients: 0.25, activations: 0.5}" cat squeezed.yaml
estimate() { "$penstock" simulate squeezed.yaml --json "$@" | grep '"estimate_s"'; }
[[ $(estimate) == $(estimate --gradient-compression 0.25) && $(estimate) != $(estimate --activation-compression 1) ]] ||
  { echo "FAILED: compression does not show in the estimate"; failures=$((failures + 1)); }
expect 0 "samples/s" "$penstock" compare --model case_study --cluster "$clusters/summit.yaml" --devices 4 --mini-batch 64 \
  --planners spp --gradient-compression 0.5
expect 10 "--gradient-compression: expected a ratio above 0 and at most 1, not '1.5'" "${plan[@]}" --gradient-compression 1.5 -o bad.yaml
expect 10 "expected a ratio above 0 and at most 1, not 'nan'" "${plan[@]}" --activation-compression nan -o bad.yaml

# Why it takes so long.
expect 0 "PP8 (depth 5), 1F1B, mb 4: " "$penstock" simulate plan.yaml
expect 0 "TFLOP/s per GPU, MFU " "$penstock" simulate plan.yaml
expect 0 "tokens/s" "$penstock" simulate plan.yaml
expect 0 "stage 7, device 7 " "$penstock" simulate plan.yaml --explain
expect 0 "iteration without it" "$penstock" simulate plan.yaml --explain
expect 0 "model FLOPs at peak" "$penstock" simulate plan.yaml --explain
expect 0 '"mfu_without"' "$penstock" simulate plan.yaml --explain --json
expect 0 "model FLOPs at peak" "${plan[@]}" --pipeline-micro-batch 4 --explain
changes="network=200Gb/s, devices=4, mini_batch=2x"
expect 0 "network=200Gb/s " "$penstock" simulate plan.yaml --what-if "$changes"
expect 0 "stage 0 has 1 replica: 4 of 8 devices would leave it no whole number" "$penstock" simulate plan.yaml --what-if "$changes" --wide
expect 0 '"change": "all"' "$penstock" simulate plan.yaml --what-if "$changes" --json
expect 10 "--what-if: unknown what-if key 'colour'; expected one of devices, network, node_links" "$penstock" simulate plan.yaml --what-if colour=2x
expect 10 "--what-if: network: expected a factor such as 2x, or a value such as 200Gb/s, not '3'" "$penstock" simulate plan.yaml --what-if network=3
top=("$penstock" plan --model case_study --cluster summit --devices 4 --mini-batch 64 --planner megatron)
expect 0 "differs from the best in" "${top[@]}" --top 3
expect 0 '"next_best"' "${top[@]}" --top 3 --json
expect 10 "it cannot be used with --choose-by estimate" "${top[@]}" --top 3 --choose-by estimate
expect 10 "it needs --aim time" "${top[@]}" --top 3 --aim cost
expect 10 "--top" "${top[@]}" --top 0
expect 0 '"iteration_without_s"' "$penstock" simulate plan.yaml --explain --json
lines() { "$penstock" simulate plan.yaml --explain "$1" | sed '1,/after$/d' | grep -vc -e '^-'; }
(($(lines 3) == 3 && $(lines 1) == 1)) || { echo "FAILED: --explain shows $(lines 3) and $(lines 1) lines"; failures=$((failures + 1)); }
expect 0 "penstock: warning: collective ring is set, but no stage has replicas" "$penstock" simulate plan.yaml --collective ring --explain
expect 10 "--explain" "$penstock" simulate plan.yaml --explain 0

# Out of memory: refused, or simulated for its timeline.
sed 's/16GiB/290MiB/' "$clusters/summit.yaml" >tight.yaml
expect 21 "stage 3 needs 344 MiB on device 3, which has 290 MiB" "$penstock" simulate plan.yaml --cluster tight.yaml --svg bad.svg
expect 21 "warning: device 3 runs out of memory at " "$penstock" simulate plan.yaml --cluster tight.yaml --allow-oom --svg oom.svg
expect 0 "<title>device 3 runs out of memory at " cat oom.svg
expect 21 '"out_of_memory": [' "$penstock" simulate plan.yaml --cluster tight.yaml --allow-oom --json --perfetto oom.json
expect 0 '"name":"device 3 runs out of memory at ' cat oom.json
sed 's/16GiB/340MiB/' "$clusters/summit.yaml" >just.yaml
expect 0 "samples/s" "$penstock" simulate plan.yaml --cluster just.yaml --allow-oom
expect 0 '"device_peaks"' "$penstock" simulate plan.yaml --json
expect 0 '"moment": "' "$penstock" simulate plan.yaml --json
expect 0 "memory of each device at its peak" "$penstock" simulate plan.yaml

# A perturbation: one run, many runs on any number of threads, what the plan never meets.
cat >day.yaml <<YAML
devices: [{device: node0.1, speed: 0.5}]
stragglers:
  - {device: node7.3, from: 0s, to: 1s, speed: 0.5}
jitter: {forward: {lognormal: 5%}, transfer: {uniform: 10%}}
links: [{from: node0, to: network, at: 5ms, bandwidth: 10%, restored: 9ms}]
YAML
perturbed=("$penstock" simulate plan.yaml --network fair --perturbation day.yaml --seed 3)
expect 0 "day.yaml, seed 3: 1 slow device, 1 straggler, jitter (forward lognormal 5%, transfer uniform 10%), 1 link fault; iteration without it" "${perturbed[@]}"
expect 0 "warning: day.yaml:3: stragglers[0]: the device computes nothing" "${perturbed[@]}"
expect 0 '"perfect_iteration_s"' "${perturbed[@]}" --json
expect 0 "day.yaml, seeds 3 to 22: " "${perturbed[@]}" --runs 20
"${perturbed[@]}" --runs 20 --json -j 1 >one.json 2>one.err
"${perturbed[@]}" --runs 20 --json -j 3 >three.json 2>three.err
cmp one.json three.json && cmp one.err three.err || { echo "FAILED: threads show in runs"; failures=$((failures + 1)); }
expect 0 '"p99"' cat one.json
# A row is of one run: the least time has the greatest rate.
"${perturbed[@]}" --runs 20 2>/dev/null | awk '$1 == "min" { least = $4 } $1 == "max" { most = $4 } END { exit !(least > most) }' ||
  { echo "FAILED: the fastest run is not the one with the greatest rate"; failures=$((failures + 1)); }
expect 11 "--verify cannot be used with jitter of transfers" "${perturbed[@]}" --verify
expect 11 "--svg, --perfetto, --verify, --explain, --traffic and --allow-oom need a single run" "${perturbed[@]}" --runs 2 --svg bad.svg
expect 11 "--runs needs jitter or lengths in the perturbation file" "$penstock" simulate plan.yaml --perturbation <(sed '/jitter/d' day.yaml) --runs 2
expect 10 "requires --perturbation" "$penstock" simulate plan.yaml --seed 3
expect 10 "--seed: Value -1 not in range 0 to 4611686018427387904" "${perturbed[@]}" --seed -1
expect 10 "--seed: Value 18446744073709551616 not in range" "${perturbed[@]}" --seed 18446744073709551616
expect 0 "day.yaml, seeds 4611686018427387904 to 4611686018427387905: " "$penstock" simulate plan.yaml --perturbation day.yaml \
  --seed 4611686018427387904 --runs 2
sed 's/bandwidth: 10%, restored: 9ms/bandwidth: down/' day.yaml >down.yaml
expect 11 "down.yaml:5: links[0]: node0 to network is down from 5.00 ms on and never restored, but the transfer of" "$penstock" simulate plan.yaml --perturbation down.yaml --svg bad.svg
sed 's/node0.1/node0.7/' day.yaml >noone.yaml
expect 11 "noone.yaml:1: devices[0].device: no device is named 'node0.7'" "$penstock" simulate plan.yaml --perturbation noone.yaml --svg bad.svg
expect 0 "samples/s" "$penstock" simulate plan.yaml --imperfection "$clusters/../imperfect/bad_day.yaml" --runs 3  # its old name

# Sequences of unlike length.
echo 'lengths: {lognormal: {median: 60, sigma: 0.7}, packing: first_fit, pad: 16}' >lengths.yaml
filled=("$penstock" simulate plan.yaml --perturbation lengths.yaml --seed 3)
expect 0 "lengths.yaml, seed 3: lengths (lognormal median 60 sigma 0.7, first_fit, padded to 16); iteration without it" "${filled[@]}" --verify
expect 0 "% of what is computed" "${filled[@]}"
expect 0 '"computed_tokens"' "${filled[@]}" --json
expect 0 "tokens per iteration" "${filled[@]}" --runs 5
"${filled[@]}" --runs 5 --json -j 1 >one.json && "${filled[@]}" --runs 5 --json -j 3 >three.json
cmp one.json three.json || { echo "FAILED: threads show in lengths"; failures=$((failures + 1)); }
expect 0 '"by_seed"' cat one.json
sed 's/pad: 16/maximum: 9999/' lengths.yaml >long.yaml
expect 11 "long.yaml:1: lengths: maximum 9999 is more than the 256 tokens of the model's sequence" "$penstock" simulate plan.yaml --perturbation long.yaml --svg bad.svg

expect 0 "Lower bound for any plan" "${plan[@]}" --pipeline-micro-batch 4
expect 0 '"estimate_error": ' "${plan[@]}" --pipeline-micro-batch 4 --json
# The bound for plans of a framework, and the proof that none fits.
small=("$penstock" plan --model llama3-8b -p layers=4 --mini-batch 16 --planner megatron)
expect 0 "Lower bound for plans that Megatron-LM can run: " "${small[@]}" --gpus 4xH100
expect 0 '"limited_by": "' "${small[@]}" --gpus 4xH100 --json
expect 20 "\`penstock size\` finds how many devices" "$penstock" plan --model llama3-405b --gpus 8xH100
expect 20 "no plan that Megatron-LM can run fits: of " "$penstock" plan --model llama3-70b --gpus 4xH100 --mini-batch 16 --planner megatron
states() { "${small[@]/%megatron/joint}" --gpus 4xH100 --json "$@" 2>/dev/null | sed -n 's/.*"states": \([0-9]*\).*/\1/p'; }
early=$(states --gap 1000) whole=$(states --gap 0)
((0 < early && early < whole)) || { echo "FAILED: --gap: $early of $whole states"; failures=$((failures + 1)); }
expect 11 "bound: needs a framework" "${small[@]}" --gpus 4xH100 --for any --bound
expect 11 "bound: there is no bound for plans of PyTorch" "${small[@]}" --gpus 4xH100 --for pytorch --bound
expect 11 "gap ends the search of joint; " "${small[@]}" --gpus 4xH100 --gap 5

# Planners side by side: fastest first, as table, CSV and JSON; reasons, limits, wrong names.
compare=("$penstock" compare --model case_study --cluster "$clusters/summit.yaml" --devices 8 --mini-batch 64)
expect 0 "no plan with a flush takes less than" "${compare[@]}" --csv c.csv -o all
expect 0 "; these runs multiplied in 16 bits" "$penstock" plan --model llama3-8b --gpus 8xH100 --planner megatron --precision fp8_delayed
profiles=("$clusters"/../profiled/rank{0,1}.json.gz --plan "$clusters/../profiled/plan.yaml")
expect 0 "costs: " "$penstock" import trace "${profiles[@]}" --costs "$clusters/../profiled/costs.yaml"
expect 11 "no step 99; the profiles have 10, 11, 12" "$penstock" import trace "${profiles[@]}" --step 99
"$penstock" plan --model llama3-8b --gpus 8xH100 --planner megatron -o within.yaml >/dev/null 2>&1
expect 0 "no effect: these costs have measured times of collectives within a node" "$penstock" simulate within.yaml --what-if node_links=2x --columns all
expect 0 "node_links=2x, as collectives within a node have measured times" "$penstock" explain within.yaml
# Plan files in place of a problem: the fastest first, with the numbers of `simulate`.
for planner in spp data_parallel; do "$penstock" plan "${compare[@]:2}" --planner $planner -o "$planner.yaml" >/dev/null 2>&1; done
expect 0 "is the fastest" "$penstock" compare data_parallel.yaml spp.yaml
for planner in spp data_parallel; do
  speed=$("$penstock" simulate $planner.yaml --json | grep -o '"samples_per_s": [0-9.]*')
  expect 0 "$speed" "$penstock" compare data_parallel.yaml spp.yaml --json
done
expect 0 "8 devices of summit" "$penstock" compare data_parallel.yaml spp.yaml --columns all
expect 11 "only plans of one model can be compared" "$penstock" compare spp.yaml released.yaml
expect 11 "none.yaml" "$penstock" compare spp.yaml none.yaml
expect 10 "--planners cannot be used with plan files" "$penstock" compare spp.yaml --planners spp
expect 10 "--model is required, unless plan files are compared" "$penstock" compare
[[ $(head -n 2 c.csv | tail -n 1) == case_study,summit,8,* && -s all.txt && -s all.json && -s all.svg ]] && cmp -s c.csv all.csv ||
  { echo "FAILED: compare wrote no results"; failures=$((failures + 1)); }
expect 0 "spp " "${compare[@]}" --planners spp -o all
echo mine >notes.txt
expect 12 "notes.txt is there, and notes.json does not say that penstock compare wrote it" "${compare[@]}" --planners spp -o notes
[[ $(cat notes.txt) == mine && ! -e notes.csv ]] || fail "compare wrote over somebody's notes"
(($(grep -c '^case_study,summit,8,' c.csv) >= 3)) || { echo "FAILED: compare left planners out"; failures=$((failures + 1)); }
expect 0 '"lower_bound_s": ' "${compare[@]}" --planners spp --json
echo notes >notes.html
expect 12 "notes.html exists and is not a page of Penstock" "${compare[@]}" --planners spp --page notes.html
expect 0 "notes" cat notes.html
expect 0 "page written to page.html" "${compare[@]}" --planners spp,graphpipe --page page.html
expect 0 "page written to page.html" "$penstock" plan "${compare[@]:2}" --planner spp --page page.html
expect 0 'name="generator" content="Penstock"' cat page.html
expect 0 "[2/2] graphpipe: " "${compare[@]}" --planners spp,graphpipe
expect 0 "spp " "${compare[@]}" --planners spp --time-limit 1min
expect 0 "piper:flush=true" "${compare[@]}" --planners piper,piper:flush=true,pipedream:formula=code:straight=true
expect 10 "piper: unknown option 'flash'; did you mean 'flush'?" "${compare[@]}" --planners piper:flash=true --csv bad.yaml
expect 10 "piper: flush: expected false, true, not 'yes'" "${any[@]}" --planner piper --option flush=yes -o bad.yaml
expect 10 "dapple: unknown option 'flush'; expected one of choose_by" "${any[@]}" --planner dapple --option flush=true -o bad.yaml
expect 0 "cost of a stage as in the paper, or as the public optimizer computes it" "$penstock" planners pipedream
expect 31 "memory full: the memory limit is reached" "${compare[@]}" --planners spp --memory-limit 0B
expect 0 "spp " "${compare[@]}" --planners spp --memory-limit none
expect 31 "the memory limit is reached, and no plan was found until then" "${plan[@]}" --memory-limit 0B -o bad.yaml
expect 10 "--memory-limit: expected bytes such as 4GiB, or none, not 'much'" "${plan[@]}" --memory-limit much -o bad.yaml
expect 0 '"search_memory_bytes": ' "${plan[@]}" --pipeline-micro-batch 4 --json

# One thread is one thread: what candidates take to simulate, over all threads, is part of the search.
"$penstock" plan --model dlrm --cluster "$clusters/summit.yaml" --devices 32 --mini-batch 8192 --planner spp -j 1 --json >alone.json
awk -F'[:,]' '/"search_s"/ { search = $2 } /"judging_s"/ { judging = $2 } END { exit !(judging > 0 && judging <= search) }' alone.json ||
  { echo "FAILED: -j 1 takes several threads"; failures=$((failures + 1)); }
expect 10 "did you mean 'spp'" "${compare[@]}" --planners sppp --csv bad.yaml
expect 10 "spp is given twice" "${compare[@]}" --planners spp,spp --csv bad.yaml
expect 10 "unknown planner ''" "${compare[@]}" --planners , --csv bad.yaml
expect 10 "--time-limit: expected a time such as 10s, not 'soon'" "${compare[@]}" --time-limit soon --csv bad.yaml
expect 31 "timed out: the time limit is over" "${compare[@]}" --planners spp --time-limit 0s
expect 31 "the time limit is over" "${plan[@]}" --time-limit 0s -o bad.yaml
expect 20 "infeasible: no plan uses exactly 32 devices" "$penstock" compare --model case_study --cluster "$clusters/summit.yaml" --mini-batch 1 --planners spp

expect 0 "graphpipe" "$penstock" planners
expect 0 "inception_v3" "$penstock" models
expect 0 "series-parallel" "$penstock" model clip -o clip.json
expect 0 "depth" "$penstock" plan --model clip.json --cluster "$clusters/summit.yaml" --devices 4 --mini-batch 32 --planner graphpipe
expect 0 "branches" "$penstock" model mmt -p branches=2 -o m.dot
expect 0 "digraph" cat m.dot

# Import: a PipeDream profile becomes a model and costs that planners take; both files or none.
fields=", activation_size=4000.0, parameter_size=400.0"
{
  echo "n1 -- Input0 -- forward_compute_time=9.0, backward_compute_time=0.0$fields"
  for i in 2 3 4 5; do echo "n$i -- Linear -- forward_compute_time=10.0, backward_compute_time=20.0$fields"; done
  for i in 1 2 3 4; do printf '\tn%d -- n%d\n' $i $((i + 1)); done
} >graph.txt
import=("$penstock" import pipedream-graph graph.txt --batch 10)
expect 0 "chain: 5 operators" "${import[@]}" -o chain.json --costs chain.yaml
expect 0 "10: 0.01s" cat chain.yaml
# Times of a profile for batches that were not measured.
expect 0 "0 ops, 0.0 %  0 ops, 0.0 %  4 ops, 100.0 %" "$penstock" calibrate coverage chain.yaml --model chain.json --micro-batch 5
expect 0 "4 ops, 100.0 %" "$penstock" calibrate coverage chain.yaml --model chain.json --micro-batch 10
expect 0 '"extrapolated": 1.0' "$penstock" plan --model chain.json --costs chain.yaml --cluster "$clusters/summit.yaml" --devices 4 --mini-batch 80 --micro-batch 5 --planner graphpipe --json
by_turns=("$penstock" plan --model chain.json --costs chain.yaml --cluster "$clusters/summit.yaml" --devices 4 --mini-batch 80 --micro-batch 10)
expect 0 "estimated iteration 240 ms" "${by_turns[@]}" --planner pipedream -o turns.yaml
expect 0 "schedule: pipedream" cat turns.yaml
expect 0 "samples/s" "$penstock" simulate turns.yaml --costs chain.yaml
expect 0 "estimated iteration 240 ms" "${by_turns[@]}" --planner pipedream_2bw -o turns.yaml
expect 0 "schedule: pipedream_2bw" cat turns.yaml
expect 11 "pipedream: k must be 1" "${by_turns[@]}" --planner pipedream --k 2 -o bad.yaml
sed 's/n4 -- n5/n4 -- n6/' graph.txt >dangling.txt
expect 11 "dangling.txt:9: n6: the edge names a node that does not exist" "$penstock" import pipedream-graph dangling.txt --batch 10 -o bad.json --costs bad.yaml
expect 11 "cannot write" "${import[@]}" -o bad.json --costs chain.json/bad.yaml
expect 10 "--batch" "$penstock" import pipedream-graph graph.txt -o bad.json
expect 10 "" "$penstock" import
# Topologies and lists of hosts become clusters; both files or one.
seeds=${clusters%/experiments/clusters}/tests/fuzz/seeds/topology
printf 'GPU0 GPU1 GPU2\nGPU0 X NV4 NV4\nGPU1 NV4 X NV4\nGPU2 NV4 NV4 X\n' >board.txt
printf 'n1 slots=3\nn2 slots=3\n' >hosts
expect 0 "board.yaml: 3 A100-80 in 1 machine" "$penstock" import topo board.txt --device A100-80 -o board.yaml
expect 0 "2 rings over direct cables of a machine, 200 GB/s together; the smallest cut has 200" "$penstock" import topo board.txt --device A100-80 -o board.yaml
expect 0 "samples/s" "$penstock" plan --model gpt --cluster board.yaml --mini-batch 6 --planner data_parallel
expect 0 "both.yaml: 6 A100-80 in 2 machines" "$penstock" import topo board.txt hosts --device A100-80 -o both.yaml
expect 0 "name: both" cat both.yaml
expect 0 "name: n2.gpu2, device: a100, node: 1" "$penstock" import topo hosts board.txt --device A100-80
expect 0 "count: 2, device: h100, devices: 3" "$penstock" import topo hosts --device H100
expect 0 "count: 2, device: h100, devices: 4, rails: true" "$penstock" import topo <(printf 'a\nb\n') --device 4xH100-rails
expect 0 "gpu0, to: gpu1, bandwidth: 300GB/s" "$penstock" import topo "$seeds/two.xml" --device A100-80
expect 11 "states no slots: add --gpus-per-node N" "$penstock" import topo <(echo a) --device H100
expect 0 "devices: 2" "$penstock" import topo <(echo a) --device H100 --gpus-per-node 2
expect 11 "hosts:1: n1 has 3 slots; expected 2, as every machine" "$penstock" import topo hosts --device H100 --gpus-per-node 2
expect 11 "--device 4xH100 and --gpus-per-node 2 differ" "$penstock" import topo hosts --device 4xH100 --gpus-per-node 2
expect 11 "board.txt: it has 3 GPUs, and the command line states 8" "$penstock" import topo board.txt --device 8xA100-80
expect 11 "board.txt: --device 3xA100-80-rails: rails are for machines" "$penstock" import topo board.txt --device 3xA100-80-rails
expect 11 "expected one machine, as in 8xH100" "$penstock" import topo hosts --device H100x2
expect 11 "a second list of hosts beside hosts" "$penstock" import topo hosts hosts --device H100
expect 11 "a second topology beside board.txt" "$penstock" import topo board.txt board.txt --device H100
sed 's/NV4/NV9/g' board.txt >many.txt
expect 11 "many.txt:2: GPU 0: it has 18 NVLinks, and V100-32 has 6" "$penstock" import topo many.txt --device V100-32
expect 11 "no GPU 'h1000' is known" "$penstock" import topo hosts --device H1000
expect 10 "--device is required" "$penstock" import topo hosts
# Piper: its workload file becomes a model with costs, planned like any other.
workload=${clusters%/experiments/clusters}/tests/fuzz/seeds/piper/two.json
expect 0 "two: 2 operators" "$penstock" import piper-json "$workload" --unit ms -o two.json --costs two.yaml
expect 0 "estimated iteration" "$penstock" plan --model two.json --costs two.yaml --cluster "$clusters/summit.yaml" --devices 2 --mini-batch 8 --planner piper
expect 0 "samples/s" "$penstock" plan --model case_study --cluster "$clusters/summit.yaml" --devices 4 --mini-batch 32 --planner piper --option flush=true -o piper.yaml
expect 0 "samples/s" "$penstock" simulate piper.yaml --verify
expect 31 "more than 40000 downsets" "$penstock" plan --model mmt --cluster "$clusters/summit.yaml" --devices 4 --mini-batch 8 --planner piper -o bad.yaml
expect 0 "samples/s" "$penstock" plan --model mmt --cluster "$clusters/summit.yaml" --devices 4 --mini-batch 8 --planner piper_row
sed 's/"timePerSample": 3/"timePerSample": -3/' "$workload" >negative.json
cat >gemm.csv <<'CSV'
framework,device,gemm_dtype,m,n,k,latency
X,NVIDIA V100,bfloat16,128,128,128,0.01
X,NVIDIA V100,int8,128,128,128,0.005
X,NVIDIA V100,bfloat16,4096,4096,4096,2
CSV
cat >core.csv <<'CSV'
device,attn_dtype,batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,latency
NVIDIA V100,bfloat16,1,256,8,0,64,0,0.02
NVIDIA V100,bfloat16,1,256,8,2,64,0,0.01
CSV
expect 0 "NVIDIA V100: 2 products, 1 of attention; 2 rows left out" "$penstock" import kernels gemm.csv core.csv -o v100.yaml
cat >decode.csv <<'CSV'
op_name,attn_dtype,kv_cache_dtype,batch_size,isl,num_heads,num_key_value_heads,head_dim,latency
context_attention,bfloat16,bfloat16,1,256,8,0,64,0.02
context_attention,bfloat16,fp8,1,512,8,0,64,0.03
generation_attention,bfloat16,bfloat16,1,1,8,0,64,0.01
CSV
expect 0 "NVIDIA V100: 2 products, 1 of attention; 3 rows left out" "$penstock" import kernels gemm.csv decode.csv -o decode.yaml
sed 's/NVIDIA V100,//; s/device,//' gemm.csv >nameless.csv
expect 11 "nameless.csv: no table has the column device: name it by --device" "$penstock" import kernels nameless.csv -o bad.yaml
expect 0 "NVIDIA V100: 2 products" "$penstock" import kernels nameless.csv --device "NVIDIA V100" -o decode.yaml
expect 11 "'NVIDIA V100' in a table of 'NVIDIA P100'" "$penstock" import kernels gemm.csv --device "NVIDIA P100" -o bad.yaml
printf 'PAR1\0\0' >gemm.parquet
expect 11 "gemm.parquet: a Parquet file: expected CSV" "$penstock" import kernels gemm.parquet -o bad.yaml
tables=(--model gpt -p layers=2 -p element_bytes=2 -p attention=flash --mini-batch 8 --planner single_device --costs v100.yaml)
expect 0 "PP1" "$penstock" plan "${tables[@]}" --cluster summit --devices 1
expect 11 "the costs are the kernel tables of NVIDIA V100, but cluster dgx_a100 has a100" "$penstock" plan "${tables[@]}" --cluster dgx_a100 --devices 1
sed 's/,latency/,late/' gemm.csv >late.csv
expect 11 "late.csv:1: latency: this column is missing" "$penstock" import kernels late.csv -o bad.yaml
sed 's/4096,4096,4096/0,4096,4096/' gemm.csv >zero.csv
expect 11 "zero.csv:4: m: expected an integer from 1" "$penstock" import kernels zero.csv -o bad.yaml
sed 's/V100,bfloat16,4096/P100,bfloat16,4096/' gemm.csv >mixed.csv
expect 11 "mixed.csv:4: device: 'NVIDIA P100' in a table of 'NVIDIA V100'" "$penstock" import kernels mixed.csv -o bad.yaml
cat >nccl.csv <<'CSV'
device,op_name,nccl_dtype,num_gpus,message_size,latency
NVIDIA V100,all_reduce,half,2,1024,0.01
NVIDIA V100,alltoall,half,4,1024,0.02
NVIDIA V100,alltoall,int8,4,1024,0.02
CSV
expect 0 "2 products, 0 of attention, 2 collectives; 2 rows left out" "$penstock" import kernels gemm.csv nccl.csv -o v100.yaml
expect 0 "all_to_all: |  # ranks bytes us" cat v100.yaml
expect 0 "PP1" "$penstock" plan "${tables[@]}" --cluster summit --devices 1
sed 's/half,2,/half,1,/' nccl.csv >alone.csv
expect 11 "alone.csv:2: num_gpus: expected an integer from 2" "$penstock" import kernels gemm.csv alone.csv -o bad.yaml
sed 's/all_reduce/broadcast/' nccl.csv >cast.csv
expect 11 "cast.csv:2: op_name: expected all_reduce" "$penstock" import kernels gemm.csv cast.csv -o bad.yaml
sed 's/^  128 128 128 10/  128 128 128 -10/' v100.yaml >minus.yaml
expect 11 "products: row 1: expected a time above zero" "$penstock" plan "${tables[@]/v100.yaml/minus.yaml}" --cluster summit --devices 1
expect 10 "give an experiment file or --against" "$penstock" validate
expect 10 "--only needs an experiment file" "$penstock" validate --against runs.csv --only planner=spp
expect 10 "--clusters requires --against" "$penstock" validate small.yaml --clusters .
expect 11 "runs.csv:1: set: this column is missing" bash -c 'printf "a,b\n1,2\n" >runs.csv; "$0" validate --against runs.csv' "$penstock"

expect 11 "negative.json: nodes[1].TMPCs.1[1].timePerSample: expected a number" "$penstock" import piper-json negative.json --unit s -o bad.yaml
expect 10 "--unit is required" "$penstock" import piper-json "$workload" -o bad.yaml

# With the workload's own numbers, as Piper's program plans.
by_workload=("$penstock" plan --model two.json --cluster "$clusters/summit.yaml" --devices 2 --mini-batch 8 --planner piper --option costs=imported)
expect 0 "samples/s" "${by_workload[@]}" --costs two.yaml
expect 20 "no plan keeps to 1.00 B on exactly 2 devices" "${by_workload[@]}" --costs two.yaml --option memory=1
expect 11 "needs costs with a workload" "${by_workload[@]}"
expect 11 "of micro-batches of one sample" "${by_workload[@]}" --costs two.yaml --micro-batch 2

# A calibration: made by hand, sealed by its check sum; known by device, shown, and covering what it measured.
seal() { cat "$1"; echo "end: $(gzip -c "$1" | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')"; }
seal "${clusters%/experiments/clusters}/tests/fuzz/seeds/calibration/full.yaml" >t1.yaml
sed 's/v100/t1/g' "$clusters/summit.yaml" >t1_cluster.yaml
expect 0 "Maker T1 16GB (cuda:0), 14.9 GiB, 1 threads, load 0.25" "$penstock" calibrate report t1.yaml
expect 0 "samples_inside       7         2.1 %  8.0 %" "$penstock" calibrate report t1.yaml
expect 0 "two at once, device_copy of 1.00 MiB: 1.90 times as long (fair sharing: 2)" "$penstock" calibrate report t1.yaml
expect 0 "600 ms (+20.0 %)" "$penstock" calibrate report t1.yaml
expect 0 "extrapolated" "$penstock" calibrate coverage t1.yaml --model case_study --micro-batch 1,4 --worst 3
expect 0 '"median_error": 0.021' "$penstock" calibrate report t1.yaml --json
expect 0 '"copy_bytes_per_s": 100000000000.0' "$penstock" calibrate report t1.yaml --json
expect 0 '"cold_sum_s": 0.6,' "$penstock" calibrate report t1.yaml --json
expect 0 '"shapes": 4,' "$penstock" calibrate coverage t1.yaml --model case_study --worst 3 --json
# same_keys DATA COMMAND...: the JSON has just the keys of --help; DATA are names that a file chooses, and words between.
same_keys() {
  local data=$1
  shift
  "$@" --json | grep -o '"[a-z0-9_]*":' | tr -d '":' | sort -u | grep -vxE "$data" >keys.json
  "$@" --help | awk '/^JSON is one object/ { inside = 1; next } /^$/ { inside = 0 } inside' |
    grep -oE '[a-z0-9_]+' | sort -u | grep -vxE "$data" >keys.help
  [[ -s keys.json ]] && diff keys.json keys.help || { echo "FAILED: --help tells other keys: $*"; failures=$((failures + 1)); }
}
{
  sed 's/^launch_overhead: .*/&\ngraph_launch: 2us/' "${clusters%/experiments/clusters}/tests/fuzz/seeds/calibration/full.yaml"
  echo 'crowding:'
  echo '- {kernel: "product", memory_share: 0, beside: "addition", neighbours: 1, slowdown: [1.1, 1, 1.2], alone: [1us, 1us, 1us, 10, 1us, 1us], crowded: [1.1us, 1us, 1.2us, 10, 1us, 1.2us]}'
} >crowded.yaml
seal crowded.yaml >crowded_t1.yaml
same_keys 'fp32|driver|branches|rate|or|null|of|a|launch|in|graph' "$penstock" calibrate report crowded_t1.yaml
same_keys 'rows|in|out|each' "$penstock" calibrate coverage t1.yaml --model case_study --worst 1
head -n -1 t1.yaml >cut.yaml
expect 11 "cut.yaml:40: end: the file is truncated" "$penstock" calibrate report cut.yaml
expect 11 "cut.yaml:40: end: the file is truncated" "$penstock" plan --model case_study --cluster t1_cluster.yaml --mini-batch 8 --costs cut.yaml -o bad.yaml
sed 's/threads: 1/threads: 2/' t1.yaml >edited.yaml
expect 11 "edited.yaml:41: end: the file is damaged or was edited" "$penstock" calibrate report edited.yaml
expect 11 "day.yaml:1: not a calibration" "$penstock" calibrate report day.yaml
sed 's/cuda:0/host/' "${clusters%/experiments/clusters}/tests/fuzz/seeds/calibration/full.yaml" >host_full.yaml
seal host_full.yaml >host_t1.yaml
sed 's/load: 0.25/load: 4.36/' "${clusters%/experiments/clusters}/tests/fuzz/seeds/calibration/full.yaml" >loaded.yaml
seal loaded.yaml >loaded_t1.yaml
expect 0 "warning: the load was 4.36 when measuring began" "$penstock" calibrate report loaded_t1.yaml
expect 0 '"the load was 4.36' "$penstock" calibrate report loaded_t1.yaml --json
expect 10 "-p needs exactly one model" "$penstock" calibrate -p layers=2 -o no.yaml
expect 10 "excludes" "$penstock" calibrate --experiment e.yaml --models mmt -o no.yaml
expect 11 "cannot read" "$penstock" calibrate --models gone.json --plan
expect 10 "needs -o FILE for the calibration" "$penstock" calibrate
expect 10 "did you mean 'vgg16'" "$penstock" calibrate --models vgg17 -o no.yaml
expect 10 "--budget: expected a time such as 5m" "$penstock" calibrate --budget 5 -o no.yaml
expect 10 "--budget: expected a time such as 5m, above zero, not '0s'" "$penstock" calibrate --budget 0s -o no.yaml
expect 11 "t1.yaml: identity: measured on Maker T1 16GB" "$penstock" calibrate -o t1.yaml
expect 11 "measured on Maker T1 16GB; this is" "$penstock" calibrate verify host_t1.yaml --json
[[ ! -e no.yaml ]] || { echo "FAILED: a calibration was written"; failures=$((failures + 1)); }
expect 11 "t1.yaml: links: no copies between devices were measured: give --bandwidth and --latency" "$penstock" calibrate cluster t1.yaml --devices 4 -o no.yaml
expect 0 "" "$penstock" calibrate cluster t1.yaml --devices 1 -o one.yaml
expect 10 "--bandwidth: expected a bandwidth such as 10GB/s" "$penstock" calibrate cluster t1.yaml --devices 4 --bandwidth 0 --latency 5us -o no.yaml
expect 0 "" "$penstock" calibrate cluster t1.yaml --devices 4 --bandwidth 10GB/s --latency 5us -o four.yaml
expect 0 "costs: calibration of Maker T1 16GB; of" "$penstock" plan --model case_study --cluster four.yaml --mini-batch 32 --planner graphpipe --costs t1.yaml -o four_plan.yaml
expect 0 "leave-one-out" "$penstock" calibrate report t1.yaml --page t1.html
expect 0 "<h2>Residuals</h2>" cat t1.html
expect 0 "Kernels, back to back" cat t1.html
[[ $(grep -c "<svg" t1.html) -ge 2 ]] || fail "the page of a calibration has no pictures"
printf 'plan,iteration_s,memory_gib\nplan.yaml,0.5,2\nplan.yaml,0.5,\n' >own_runs.csv
expect 0 "penstock plan --model case_study --devices 8 --mini-batch 64 --optimizer sgd --cluster fitted.yaml" "$penstock" calibrate fit own_runs.csv -o fitted.yaml
expect 0 "samples/s" "$penstock" simulate plan.yaml --cluster fitted.yaml
expect 0 "kernel_slowdown: " "$penstock" calibrate fit own_runs.csv
same_keys 'or|null' "$penstock" calibrate fit own_runs.csv
printf 'plan,iteration_s\nplan.yaml,500\n' >odd_runs.csv
expect 0 "warning: plan.yaml: 8.33 min measured, " "$penstock" calibrate fit odd_runs.csv
expect 0 "mini-batch 64, host times of 5.00 us per kernel" "${plan[@]}" --runtime 5us/kernel
printf 'plan,iteration_s\nplan.yaml,soon\n' >bad_runs.csv
expect 11 "bad_runs.csv:2: iteration_s: expected a number above zero, not 'soon'" "$penstock" calibrate fit bad_runs.csv -o no.yaml
printf 'plan,iteration_s\ngone.yaml,1\n' >bad_runs.csv
expect 11 "bad_runs.csv:2: plan: there is no file" "$penstock" calibrate fit bad_runs.csv -o no.yaml
calibrated=("$penstock" plan --model case_study --devices 4 --mini-batch 32 --planner graphpipe --costs t1.yaml)
expect 0 "costs: calibration of Maker T1 16GB; of compute time 0.0 % measured" "${calibrated[@]}" --cluster t1_cluster.yaml -o t1_plan.yaml
expect 0 '"extrapolated": ' "$penstock" simulate t1_plan.yaml --costs t1.yaml --json
expect 11 "t1.yaml: the costs are the calibration of Maker T1 16GB, but cluster summit has v100" "${calibrated[@]}" --cluster "$clusters/summit.yaml" -o bad.yaml
foreign="costs: calibration of Maker T1 16GB, foreign to v100"
expect 0 "$foreign" "${calibrated[@]}" --cluster "$clusters/summit.yaml" --allow-foreign -o foreign.yaml
expect 0 "$foreign" "$penstock" simulate foreign.yaml --costs t1.yaml --allow-foreign
expect 0 "$foreign" "$penstock" simulate foreign.yaml --costs t1.yaml --allow-foreign --perturbation day.yaml --runs 2
expect 0 "$foreign" "$penstock" compare --model case_study --cluster "$clusters/summit.yaml" --devices 4 --mini-batch 32 --planners spp --costs t1.yaml --allow-foreign
expect 10 "--allow-foreign requires --costs" "$penstock" plan --model case_study --cluster t1_cluster.yaml --mini-batch 8 --allow-foreign
printf 'experiment: foreign\nmodels: [{name: case_study, mini_batch: [32]}]\nclusters: [{file: %s, devices: [4]}]\nplanners: [spp]\ncosts: t1.yaml\n' "$clusters/summit.yaml" >foreign_run.yaml
expect 11 "foreign_run.yaml:5: costs: the costs are the calibration of Maker T1 16GB, but cluster summit has v100" "$penstock" run foreign_run.yaml
echo 'allow_foreign: true' >>foreign_run.yaml
expect 0 "Costs: calibration of Maker T1 16GB, foreign to v100." "$penstock" run foreign_run.yaml
expect 0 '"calibration of Maker T1 16GB, foreign to v100",ok' cat out/foreign/results.csv
rm -r out

# Schedules: made, written, read back, drawn; times in steps or with units.
expect 0 "dualpipev" "$penstock" schedules
expect 0 "0 |F0--F1--" "$penstock" schedule 1f1b --ranks 2 --microbatches 4
expect 0 "makespan 15, longest rank span 15, bubble 20.00 % of it" "$penstock" schedule 1f1b --ranks 2 --microbatches 4
expect 0 "peak live" "$penstock" schedule zbv --ranks 4 --microbatches 8 --csv zbv.csv --svg zbv.svg
expect 11 "this schedule cuts some into halves" "$penstock" schedule sliced_1f1b --ranks 2 --microbatches 2 --csv halves.csv
[[ ! -e halves.csv ]] || { echo "FAILED: halves were written as whole micro-batches"; failures=$((failures + 1)); }
[[ -s zbv.csv && -s zbv.svg ]] || { echo "FAILED: no schedule or picture was written"; failures=$((failures + 1)); }
expect 0 '"longest_rank_span": 24.0' "$penstock" schedule ./zbv.csv --json
expect 0 "makespan 6.00 s" "$penstock" schedule gpipe --ranks 1 --microbatches 2 --forward 1s
expect 0 "makespan 9.5," "$penstock" schedule gpipe --ranks 2 --microbatches 2 --latency 0.25
sed -i '1s/0B0/0F0/;1s/0I0/0F0/' zbv.csv
expect 21 "rank 0 cell" "$penstock" schedule zbv.csv --svg bad.svg
expect 11 "it is a folder" "$penstock" schedule .
expect 11 "the clock ends there" "$penstock" schedule 1f1b --ranks 4 --microbatches 8 --forward 1e6 --latency 1e6
echo '0F0,0Q0' >q.csv
expect 11 "q.csv:1: cell 1: expected an action" "$penstock" schedule q.csv --svg bad.svg
expect 11 "zbv: needs two stages per rank" "$penstock" schedule zbv --ranks 2 --chunks 3 --microbatches 4 --svg bad.svg
expect 11 "did you mean 'zbv'" "$penstock" schedule zvb --ranks 2 --microbatches 4
expect 11 "--ranks and --microbatches are needed" "$penstock" schedule zbv
printf '0F0,0F1,0R0,0B0,0R1,0B1,0STEP\n' > again.csv
expect 0 "0 |F0--F1--R0--B0------R1--B1------S-------" "$penstock" schedule again.csv --step 2
expect 0 "makespan 7," "$penstock" schedule ./again.csv --recompute 0.5
expect 0 "makespan 11," "$penstock" schedule zb_h1 --ranks 2 --microbatches 3 --csv low.csv --lower
expect 0 "1UNSHARD,1RECV_F0,1F0," cat low.csv
expect 0 "makespan 11," "$penstock" schedule ./low.csv
expect 11 "already lowered" "$penstock" schedule ./low.csv --csv bad.csv --lower
expect 0 "weights stashing: 4 3 2 1 versions per rank, updates missed at most 3" "$penstock" schedule pipedream --ranks 4 --microbatches 12
expect 0 "weights double_buffered: 2 2 versions per rank, updates missed at most 1" "$penstock" schedule pipedream_2bw --ranks 2 --microbatches 12 --group 4
expect 0 "weights predicted: 1 1 versions per rank and 1 more buffer, updates predicted at most 1" "$penstock" schedule xpipe --ranks 2 --microbatches 4
expect 0 '"weight_versions_per_rank": [' "$penstock" schedule bpipe --ranks 2 --microbatches 4 --json
expect 11 "pipedream_2bw: needs a group of at least p" "$penstock" schedule pipedream_2bw --ranks 4 --microbatches 12 --group 3
expect 11 "1f1b: needs no group, it has none" "$penstock" schedule 1f1b --ranks 4 --microbatches 12 --group 3
expect 11 "./low.csv: --group is for families, not for files" "$penstock" schedule ./low.csv --group 2
expect 10 "--memory-limit: Value inf not in range 1 to" "$penstock" schedule zbv --ranks 4 --microbatches 8 --memory-limit inf
expect 11 "--step 2: the schedule has no such pass" "$penstock" schedule 1f1b --ranks 2 --microbatches 2 --step 2
expect 11 "--forward soon: expected unit steps" "$penstock" schedule gpipe --ranks 2 --microbatches 2 --forward soon
expect 11 "give all with units" "$penstock" schedule gpipe --ranks 2 --microbatches 2 --forward 1ms --latency 2
expect 20 "rank 0 holds 4 full-stage activations, --memory-limit allows 3" "$penstock" schedule 1f1b --ranks 4 --microbatches 8 --memory-limit 3 --svg bad.svg

# A plan written by hand: no in-flight counts, no planner.
sed -e '/in_flight/d' -e '/planner:/d' plan.yaml >hand.yaml
expect 0 "depth 5 of 8 stages" "$penstock" simulate hand.yaml

expect 10 "see penstock plan --help" "$penstock" plan
expect 10 "see penstock --help" "$penstock" frobnicate
expect 11 "did you mean 'mmt'" "$penstock" plan --model mtt --cluster "$clusters/summit.yaml" --mini-batch 8 -o bad.yaml
echo words >words.txt
expect 11 "words.txt is no model file" "$penstock" plan --model words.txt --cluster summit --mini-batch 8 -o bad.yaml
expect 11 "is no results folder" "$penstock" report .
mkdir -p predicted && touch predicted/predictions.csv
expect 11 "holds predictions of \`penstock validate --against\`, of which there is no page" "$penstock" report predicted
expect 0 "0-31" "$penstock" plan --model dlrm --cluster summit --planner data_parallel --mini-batch 64
expect 20 "micro-batches of 32 samples on each of 8 replicas do not divide the mini-batch 128" \
  "$penstock" plan --model dlrm --cluster summit --devices 8 --planner data_parallel --micro-batch 32 --mini-batch 128 -o bad.yaml
expect 11 "cannot read file" "$penstock" plan --model mmt --cluster none.yaml --mini-batch 8 -o bad.yaml
expect 11 "does not divide the mini-batch" "${plan[@]}" --pipeline-micro-batch 7 -o bad.yaml

# JSON that nests without end is refused by whatever reads it, before anything calls itself once per level.
mkdir -p deep/a
nested=$(printf '[%.0s' {1..100000})$(printf ']%.0s' {1..100000})
for file in results.json validation.json; do
  printf '{"results":[],"provenance":%s}' "$nested" >deep/a/$file
  expect 11 "a/$file:1: nests deeper than 100 levels" "$penstock" report deep/a
  expect 11 "a/$file:1: nests deeper than 100 levels" "$penstock" index deep
  rm deep/a/$file
done
printf '{"nodes":%s}' "$nested" >deep.json
expect 11 "deep.json:1: nests deeper than 100 levels" "$penstock" import piper-json deep.json --unit s -o bad.json
expect 11 "not valid YAML" "$penstock" plan --model deep.json --cluster "$clusters/summit.yaml" --mini-batch 8 -o bad.yaml
expect 11 "cannot read file '/dev/zero': it is larger than 128 MiB" "$penstock" plan --model mmt --cluster /dev/zero --mini-batch 8 -o bad.yaml

expect 11 "33 devices asked for" "$penstock" plan --model mmt --cluster "$clusters/summit.yaml" --devices 33 --mini-batch 8 -o bad.yaml
expect 20 "no plan uses exactly 32 devices" "$penstock" plan --model case_study --cluster "$clusters/summit.yaml" --mini-batch 1 --planner graphpipe -o bad.yaml
sed 's/16GiB/1GiB/' "$clusters/summit.yaml" >small.yaml
expect 20 "missing" "$penstock" plan --model dlrm --cluster small.yaml --devices 4 --mini-batch 64 -o bad.yaml
sed 's/devices: \[1\]/devices: [0]/' plan.yaml >shared.yaml
expect 21 "device 1 serves no stage" "$penstock" simulate shared.yaml --svg bad.svg
sed 's/micro_batch: 4/micro_batch: four/' plan.yaml >word.yaml
expect 11 "word.yaml:10: stages[0].micro_batch: expected a whole number" "$penstock" simulate word.yaml --svg bad.svg
printf 'experiment: x\nmodels: [{name: mmt, mini_batch: [8]}]\nclusters: [{file: none.yaml}]\nplanners: [spp]\n' >x.yaml
expect 11 "x.yaml:3: clusters[0].file" "$penstock" run x.yaml
# A plan executed for real, small enough to take a moment: beside its simulation, as files, with its losses.
tiny=(--model case_study -p layers=1 -p hidden=64 -p heads=4 -p sequence=16)
"$penstock" plan "${tiny[@]}" --cluster "$clusters/host.yaml" --devices 2 --mini-batch 8 --planner gpipe_equal -o tiny.yaml >/dev/null
replay=("$penstock" replay tiny.yaml --sequential)
expect 0 "4 iterations, sequential), " "${replay[@]}" --iterations 4 -o replayed --losses losses.csv
for file in comparison.csv comparison.json measured.pftrace measured.svg simulated.pftrace simulated.svg; do
  [[ -s replayed/$file && -z $(find . -name '*.tmp') ]] || { echo "FAILED: replay wrote no $file"; failures=$((failures + 1)); }
done
awk -F, 'NR == 1 { next } NR > 2 && $2 >= last { bad = 1 } { last = $2; ++n } END { exit bad || n != 5 }' losses.csv ||
  { echo "FAILED: losses of 5 mini-batches that fall"; cat losses.csv; failures=$((failures + 1)); }
# In place of another replay's files; not of what somebody else keeps under their names.
expect 0 "sequential), " "${replay[@]}" --iterations 1 -o replayed
echo mine >replayed/comparison.json
expect 12 "replayed/measured.pftrace is there, and replayed/comparison.json does not say that penstock replay wrote it" \
  "${replay[@]}" --iterations 1 -o replayed
expect 0 "mine" cat replayed/comparison.json
expect 0 '"only_simulated": 0' "${replay[@]}" --iterations 1 --json
expect 0 "stage 1" "${replay[@]}" --iterations 1 --warm-up 0 --network fifo
expect 10 "--sequential excludes --no-throttle" "${replay[@]}" --no-throttle
expect 10 "--concurrent excludes --sequential" "${replay[@]}" --concurrent
expect 11 "the host has no graphs" "${replay[@]}" --graph -o bad.yaml
expect 11 "'/' is followed by how many equal partitions" "${replay[@]}" --device cuda:0/0 -o bad.yaml
expect 11 "unknown device 'hast'; did you mean 'host'?" "${replay[@]}" --device hast -o bad.yaml
expect 11 "the costs are the calibration of Maker T1 16GB, but cluster host has epyc" "${replay[@]}" --costs t1.yaml -o bad.yaml
expect 21 "the plan is not valid" "$penstock" replay shared.yaml -o bad.yaml

# A byte less than the replay took, more than the plan's stated need. The plan leaves out what poolings remember and what the
# library's kernels want on the side. Nothing is left but the message and an exit code.
"$penstock" plan --model resnet50 -p resolution=32 --cluster "$clusters/host.yaml" --devices 1 --mini-batch 2 --planner gpipe_equal -o lone.yaml >/dev/null
lone=("$penstock" replay lone.yaml --sequential)
"${lone[@]}" --iterations 1 -o alone >/dev/null
peak=$(sed -n 's/.*"peak_measured": \([0-9]*\).*/\1/p' alone/comparison.json)
sed "s/5GiB/$((peak - 1))B/" "$clusters/host.yaml" >scarce.yaml
expect 23 "out of memory" "${lone[@]}" --cluster scarce.yaml -o bad.yaml --losses bad.json

# Stopped before the device's rates are known a calibration leaves no file, or one that is read again.
timeout -k 60 -s INT 1 "$penstock" calibrate --models case_study -p layers=1 -p hidden=64 -p heads=4 --threads 1 -o early.yaml >/dev/null 2>&1
[[ ! -e early.yaml ]] || expect 0 "" "$penstock" calibrate report early.yaml

# Ctrl-C in the middle of a replay. No handler of SIGINT or SIGTERM (bits 2 and 15) may run amid a kernel: it would
# overwrite memory.
"${replay[@]}" --iterations 10000 -o stopped >stopped.out 2>stopped.err &
running=$!
sleep 0.5
handled=$(sed -n 's/^SigCgt:\s*//p' "/proc/$running/status")
((16#${handled:-0} & 16#4002)) && { echo "FAILED: a replay handles signals: $handled"; failures=$((failures + 1)); }
kill -INT $running
wait $running
status=$?
[[ $status == 30 && -z $(find . -name 'stopped*' -type d) ]] ||
  { echo "FAILED: interrupted replay: exit $status"; cat stopped.err; failures=$((failures + 1)); }

# A whole experiment, measured: goes on where it was, and leaves out what cannot run.
cat >tiny_grid.yaml <<YAML
experiment: tiny_grid
models: [{name: case_study, parameters: {layers: 1, hidden: 32, heads: 2, sequence: 8}, mini_batch: [8]}]
clusters: [{file: $clusters/host.yaml, devices: [2, 4]}]
planners: [gpipe_equal, data_parallel, single_device]
YAML
validate=("$penstock" validate tiny_grid.yaml --sequential --iterations 2 -o measured)
expect 0 "2 plans left out:" "${validate[@]}"
expect 0 "4 plans: iteration time off by" cat measured/table.txt
expect 0 "Kendall's tau" cat measured/table.txt
[[ $(head -n 1 measured/validation.csv) == plan,measured_s,measured_low_s,measured_high_s,simulated_s,error,peak_measured,* ]] ||
  { echo "FAILED: columns of validation.csv"; failures=$((failures + 1)); }
cp measured/validation.csv before.csv
expect 0 "4 of 6 plans" "${validate[@]}"
cmp before.csv measured/validation.csv || { echo "FAILED: finished rows were measured again"; failures=$((failures + 1)); }
expect 11 "the costs are the calibration of Maker T1 16GB" "$penstock" validate tiny_grid.yaml --costs t1.yaml -o bad.yaml

for unwanted in bad.yaml bad.json bad.svg results; do
  [[ ! -e $unwanted ]] || { echo "FAILED: bad input left $unwanted behind"; failures=$((failures + 1)); }
done

printf 'experiment: piper\nmodels: [{name: case_study, mini_batch: [32]}, {name: mmt, mini_batch: [8]}]\nclusters: [{file: %s, devices: [4]}]\nplanners: [spp, piper, piper_row]\n' "$clusters/summit.yaml" >piper_run.yaml
expect 0 "limit: piper: the model has more than 40000 downsets" "$penstock" run piper_run.yaml
expect 0 "mmt,summit,4,piper_row,8," cat out/piper/results.csv

expect 0 "out/piper/report.html" "$penstock" report out/piper
expect 0 'id="rows-data">' cat out/piper/report.html
expect 0 "| mmt | piper | limit | " "$penstock" report out/piper --format markdown
expect 0 "mmt & piper\\_row & " "$penstock" report out/piper --format latex
expect 0 "model,planner,ratio" "$penstock" report out/piper --format csv --baseline spp --columns model,planner,ratio
expect 0 '"ratio": ' "$penstock" report out/piper --format json --baseline spp
expect 0 "Largest ratio: " "$penstock" report out/piper --format text --baseline spp
expect 10 "unknown column 'mfuu'; did you mean 'mfu'?" "$penstock" report out/piper --format text --columns mfuu
expect 10 "--columns needs a table" "$penstock" report out/piper --columns model
expect 10 "no row has a ratio" "$penstock" report out/piper --format text --columns ratio
expect 10 "no row is of the baseline 'sppp'; did you mean 'spp'?" "$penstock" report out/piper --baseline sppp --format csv
expect 0 "chart.svg" "$penstock" report out/piper --chart chart.svg
expect 0 "samples/s" cat chart.svg
expect 0 "search.svg" "$penstock" report out/piper --chart search.svg --quantity search_time
expect 0 "Cells ran side by side" cat search.svg
expect 10 "expected a name that ends in .svg, .pdf or .png" "$penstock" report out/piper --chart chart.gif
expect 10 "--quantity needs --chart" "$penstock" report out/piper --quantity memory
expect 10 "--chart writes one picture" "$penstock" report out/piper --chart other.svg --format csv
mkdir -p no_programs
expect 11 "librsvg2-bin" env PATH="$PWD/no_programs" "$penstock" report out/piper --chart chart.pdf
[[ ! -e other.svg && ! -e chart.pdf && ! -e chart.gif ]] || fail "a refused chart was written"
if command -v rsvg-convert >/dev/null; then
  expect 0 "chart.pdf" "$penstock" report out/piper --chart chart.pdf
  [[ $(head -c 5 chart.pdf) == %PDF- ]] || fail "chart.pdf is no PDF"
fi
expect 0 "" "$penstock" report out/piper --format csv -o again.csv
expect 0 "" grep -q '^model,cluster,devices,planner,mini_batch,setting,.*,search_s,.*,status,date,hardware$' again.csv
expect 0 "5 of 6" bash -c 'cut -d, -f6,19 again.csv | grep -c "^,[0-9.e-]*[0-9]$" | sed "s/$/ of 6/"'
expect 11 "there is no folder nowhere" "$penstock" report nowhere

# Ctrl-C: what is finished stays, nothing is half written, exit code 30.
cat >long.yaml <<YAML
experiment: long
models: [{name: inception_v3, mini_batch: [4096]}, {name: mmt, mini_batch: [4096]}]
clusters: [{file: $clusters/summit.yaml, devices: [4, 8, 16, 32]}]
planners: [spp, graphpipe]
choose_by: simulation
YAML
"$penstock" run long.yaml -j 1 >long.out 2>long.err &
running=$!
# Once the first cell is done, which takes a slow machine a minute, or when the run ended by itself.
while kill -0 $running 2>/dev/null && ! grep -q '^\[1/16\]' long.err; do sleep 0.05; done
kill -INT $running
wait $running
status=$?
rows=$(($(wc -l <out/long/results.csv) - 1))
plans=$(find out/long/plans -name '*.yaml' | wc -l)
if ((status != 30 || rows < 1 || rows != plans)) || [[ -n $(find out -name '*.tmp') ]]; then
  echo "FAILED: interrupted run: exit $status, $rows rows, $plans plans"
  cat long.err
  failures=$((failures + 1))
fi

expect 11 "v_half: ranks x ranks x chunks x micro-batches must not exceed" "$penstock" schedule v_half --ranks 4096 --microbatches 2000

# A command without finished results to keep ends at once: timeout returns 124, or 137 where it must kill.
status=0
timeout -k 20 1 "$penstock" schedule 1f1b --ranks 4096 --microbatches 4000 --json >/dev/null 2>&1 || status=$?
((status == 124)) || { echo "FAILED: a long schedule, asked to end: exit $status"; failures=$((failures + 1)); }

# An experiment from a pipe, which is read but once; a pipe without a writer.
study() { cat "$1" | "$2" run /dev/stdin -o "$3"; }
expect 0 "reproduced" study "$clusters/../zero_bubble.yaml" "$penstock" piped
mkfifo nobody
expect 11 "cannot read file 'nobody': it is a pipe that nobody writes to" timeout 20 "$penstock" simulate nobody

# Only schedules, claims, and the index over all results; that of the project is up to date.
source_root=$(realpath "$clusters/../..")
expect 0 "reproduced" "$penstock" run "$source_root/experiments/zero_bubble.yaml" -o study/zero_bubble
expect 0 "" "$penstock" index study
expect 0 "| [zero_bubble](zero_bubble/) |" cat study/README.md
expect 0 "" "$penstock" index study --check
echo >>study/README.md
expect 11 "study/README.md: out of date; run penstock index" "$penstock" index study --check
echo "# Mine" >study/README.md
expect 12 "study/README.md is no index of results" "$penstock" index study
expect 0 "# Mine" cat study/README.md
expect 11 "there is no such folder" "$penstock" index nowhere
expect 11 "study/zero_bubble: holds no folder of results" "$penstock" index study/zero_bubble
if git -C "$source_root" diff --quiet HEAD -- results 2>/dev/null; then  # not after a run of one's own
  expect 0 "" "$penstock" index "$source_root/results" --check
fi

((failures == 0)) && echo "all as expected"
exit $((failures > 0))
