#!/usr/bin/env bash
# Files that a command writes are never its inputs, each other, or of another kind, except with --force.
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

# Files of another kind stay; what the option wrote before is replaced.
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
expect 12 "a.csv exists and is not a plan file" "$penstock" plan --model case_study --cluster summit --devices 4 --mini-batch 32 --planner spp -o a.csv
expect 0 "plan written to a.csv" "$penstock" plan --model case_study --cluster summit --devices 4 --mini-batch 32 --planner spp -o a.csv --force

# Each command replaces what it wrote, and nothing else.
"$penstock" plan --model gpt -p layers=2 --cluster dgx_a100 --devices 2 --mini-batch 4 --planner data_parallel -o gpt.yaml >/dev/null 2>&1
echo '{"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8, "n_positions": 8, "vocab_size": 16}' >hf.json
printf '%s\n' 'device,gemm_dtype,m,n,k,latency' 'NVIDIA A100,bfloat16,64,64,64,0.01' >gemm.csv
echo "--num-layers 2 --hidden-size 8 --num-attention-heads 2 --seq-length 8 --max-position-embeddings 8 --vocab-size 16" \
  "--micro-batch-size 1 --global-batch-size 8" >train.sh
replaces() {  # FILE MARK COMMAND...: FILE is its last word
  local file=$1 mark=$2
  shift 2
  for turn in 1 2; do expect 0 "" "$penstock" "$@" "$file"; done
  grep -q -e "$mark" "$file" || fail "$* wrote no $mark"
  echo "my notes, and more" >"$file"
  expect 12 "$file: there is a file of another kind" "$penstock" "$@" "$file"
  [[ $(cat "$file") == "my notes, and more" ]] || fail "$* replaced notes"
  expect 0 "" "$penstock" "$@" "$file" --force
  grep -q -e "$mark" "$file" || fail "$* --force replaced nothing"
}
replaces out.json '"operators"' model case_study -o
replaces out.dot digraph model case_study -o
replaces out.ref.yaml model_reference import hf hf.json -o
replaces out.run.yaml penstock_plan import megatron train.sh --gpus 8xA100-80 --devices 8 -o
replaces out.tables.yaml penstock_kernel_tables import kernels gemm.csv -o
replaces out.sh Megatron-LM export gpt.yaml --to megatron -o
replaces out.ds train_batch_size export gpt.yaml --to deepspeed -o

# A link that leads nowhere is written through, as a shell would.
ln -s target.json nowhere.json
expect 0 "" "$penstock" model case_study -o nowhere.json
[[ -L nowhere.json && -s target.json ]] || fail "a dangling link was replaced"

exit $((failures > 0))
