"""Files that Penstock reads: for each kind of file a seed, the command that reads it, and how the seed is changed."""

import json
import pathlib

from . import texts, trees
from .trees import Tree

DEVICE = {"memory": "80GiB", "memory_bandwidth": "2039GB/s", "multiprocessors": 108, "launch_overhead": "4us",
          "peak": {"fp32": "19.5TFLOP/s", "bf16": "312TFLOP/s", "fp16": "312TFLOP/s"}}
CLUSTER = {"name": "c", "device_types": {"a100": DEVICE},
           "nodes": [{"count": 2, "device": "a100", "devices": 2, "link": {"bandwidth": "300GB/s", "latency": "1us"},
                      "uplink": {"bandwidth": "25GB/s", "latency": "2us"}}]}
QWEN = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 128, "max_position_embeddings": 64,
        "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1000000, "attention_bias": False, "tie_word_embeddings": False,
        "use_sliding_window": False, "torch_dtype": "bfloat16"}
MIXTRAL = {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
           "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 128, "max_position_embeddings": 64, "hidden_act": "silu",
           "num_local_experts": 4, "num_experts_per_tok": 2, "rms_norm_eps": 1e-5, "sliding_window": None, "tie_word_embeddings": False}
MEGATRON = {"model": {"num_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "seq_length": 32, "max_position_embeddings": 32,
                      "vocab_size": 128, "make_vocab_size_divisible_by": 1, "ffn_hidden_size": 128, "normalization": "RMSNorm",
                      "swiglu": True, "position_embedding_type": "rope", "disable_bias_linear": True,
                      "untie_embeddings_and_output_weights": True},
            "parallel": {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2, "sequence_parallel": True,
                         "pipeline_model_parallel_layout": [["embedding", "decoder"], ["decoder", "decoder", "decoder", "loss"]]},
            "train": {"micro_batch_size": 1, "global_batch_size": 8, "bf16": True, "optimizer": "adam", "use_distributed_optimizer": True,
                      "overlap_grad_reduce": True, "recompute_granularity": "full", "recompute_num_layers": 1, "fp8": None}}
SCRIPT = """#!/bin/bash
TP=2
PP=${PP:-2}
SIZE=small
MODEL_ARGS=(
  --num-layers 4 --hidden-size 64 --num-attention-heads 4 # small
  --seq-length 32 --max-position-embeddings 32 --vocab-size 128 --make-vocab-size-divisible-by 1
  --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --ffn-hidden-size 128
)
if [ $SIZE = small ]; then
  BATCH=$((TP * 4))
else
  BATCH=64
fi
torchrun --nproc_per_node 8 pretrain_gpt.py "${MODEL_ARGS[@]}" --tensor-model-parallel-size $TP --bf16 \\
  --pipeline-model-parallel-size=$PP --micro-batch-size 1 --global-batch-size $BATCH --sequence-parallel \\
  --use-distributed-optimizer --pipeline-model-parallel-layout 'Et|t*3L' 2>&1 | tee log.txt
"""
OPERATORS = [
    {"name": "x", "kind": "input", "inputs": [], "output_bytes": 4096, "kept_bytes": 0},
    {"name": "a", "kind": "linear", "inputs": ["x"], "shape": {"rows": 1, "in": 1024, "out": 2048}, "forward_flops": 4194304,
     "input_gradient_flops": 4194304, "weight_gradient_flops": 4194304, "parameters": 2097152, "output_bytes": 8192, "kept_bytes": 4096},
    {"name": "b", "kind": "linear", "inputs": ["a"], "shape": {"rows": 1, "in": 2048, "out": 1024}, "forward_flops": 4194304,
     "input_gradient_flops": 4194304, "weight_gradient_flops": 4194304, "parameters": 2097152, "output_bytes": 4096, "kept_bytes": 8192}]
MODEL = {"penstock": "model", "version": 2, "name": "m", "element_bytes": 4, "operators": OPERATORS}
PROFILE = {"penstock_profile": 1, "device": "A100",
           "operators": {"a": {"forward": {1: "100us", 8: "400us"}, "backward": {1: "200us", 8: "800us"}},
                         "b": {"total": {1: "300us", 2: "500us", 16: "3ms"}}}}
PLAN = {"penstock_plan": 1, "model": {"name": "m.json"}, "cluster": {"name": "c.yaml", "devices": 4}, "planner": "hand",
        "training": {"mini_batch": 16, "optimizer": "adam"}, "schedule": "1f1b",
        "stages": [{"devices": [0, 1], "micro_batch": 4, "operators": ["x", "a"], "zero": 1},
                   {"devices": [2, 3], "micro_batch": 4, "in_flight": 4, "recompute": "stage", "operators": ["b"]}]}
EXPERIMENT = {"experiment": "e", "models": [{"name": "m.json", "mini_batch": [8, 16]}],
              "clusters": [{"file": "c.yaml", "devices": [2]}], "planners": ["spp"], "optimizer": ["sgd", "adam"]}
PERTURBATION = {"devices": [{"device": 0, "speed": 0.5}, {"device": 1, "speed": 2}],
                "stragglers": [{"device": 1, "from": "1ms", "to": "5ms", "speed": 0.25}],
                "jitter": {"forward": {"lognormal": "5%"}, "transfer": {"uniform": "20%"}}}
TABLES = {"penstock_kernel_tables": 1, "device": "NVIDIA A100-SXM4-80GB", "streaming": {"bandwidth": "1500GB/s", "latency": "3us"},
          "products": "64 64 64 5\n1024 1024 1024 20\n4096 4096 4096 600\n", "attention": "1 1024 16 64 60 170\n",
          "all_reduce": "2 1048576 30\n4 1073741824 9000\n"}
GEMM = """framework,device,gemm_dtype,m,n,k,latency
x,NVIDIA A100-SXM4-80GB,bfloat16,64,64,64,0.006
x,NVIDIA A100-SXM4-80GB,bfloat16,1024,1024,1024,0.02
x,NVIDIA A100-SXM4-80GB,bfloat16,4096,4096,4096,0.6
x,NVIDIA A100-SXM4-80GB,float16,4096,4096,4096,0.6
"""
SIMUMAX = {"sys_name": "a100_pcie", "accelerator": {
    "op": {"matmul": {"tflops": 312, "accurate_efficient_factor": {"b=1, m=4096, k=1024, n=4096, layout=TN": 0.7,
                                                                   "b=1, m=1024, k=1024, n=1024, layout=NN": 0.5}},
           "sdp_fwd": {"tflops": 312, "accurate_efficient_factor": {
               "batch=1, seq_len=4096, head_num=16, kv_head_num=16, qk_head_dim=128, v_head_dim=128": 0.6}}},
    "bandwidth": {"default": {"gbps": 1400, "efficient_factor": 0.9, "latency_us": 3}}}}
KINETO = {"distributedInfo": {"rank": 2, "world_size": 4}, "host_name": "a", "baseTimeNanoseconds": 1790857026000000000,
          "traceEvents": [{"ph": "X", "cat": cat, "name": name, "ts": start, "dur": length} for cat, name, start, length in [
              ("user_annotation", "ProfilerStep#3", 10, 900), *((cat, name, 50 + 100 * i, 80) for i, pair in enumerate(
                  [("1F0", "linear"), ("1B0", "mm"), ("1F1", "linear"), ("1B1", "mm"), ("1F2", "linear"), ("1B2", "mm"), ("1F3", "linear"),
                   ("1B3", "mm")]) for cat, name in (("user_annotation", "PP:" + pair[0]), ("cpu_op", "aten::" + pair[1])))]]}
SCHEDULE = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"
RUNS = """set,id,group,cluster,devices,layers,hidden,heads,kv_heads,ffn,sequence,vocabulary,block,positions,attention,element_bytes,layers_per_stage,tp,pp,dp,micro_batch,mini_batch,schedule,recompute,zero,ignored,measured_s,measured_gib
s,1,g,c,4,4,1024,16,16,4096,1024,32000,gpt,table,flash,2,,2,2,1,1,8,1f1b,full,0,,0.4,9.5
s,2,g,c,4,4,1024,16,16,4096,1024,32000,llama,rope,flash,2,1 3,1,2,2,2,8,1f1b,none,1,,0.3,
"""
SEARCH = ("--mini-batch", "8", "--planner", "spp", "--json")


SEEDS = pathlib.Path(__file__).resolve().parents[2] / "tests/fuzz/seeds"


class Reader:
    """`file` is changed; `commands` read it, the last one's standard output is the answer."""

    def __init__(self, name, file, seed, commands, form, other=None):
        self.name, self.file, self.seed, self.commands, self.form = name, file, seed, commands, form
        self.other = other or {}

    def text(self, seed=None):
        seed = self.seed if seed is None else seed
        if self.form == "yaml":
            return trees.yaml_text(seed.root).encode("utf-8", "replace")
        return (trees.json_text(seed.root) if self.form == "json" else seed).encode("utf-8", "replace")

    def mutant(self, rng):
        """Bytes, what was done, and whether the file means the same as the seed."""
        if rng.random() < 0.15:
            return (*texts.mutate_bytes(self.text(), rng), False)
        if self.form in ("yaml", "json"):
            if rng.random() < 0.1:
                return self.text(trees.reordered(self.seed, rng)), "keys in another order", True
            tree, done = trees.mutate(self.seed, rng)
            while rng.random() < 0.25 and tree.places():
                tree, more = trees.mutate(tree, rng)
                done += "; " + more
            return self.text(tree), done, False
        if self.form == "text":
            return (*texts.mutate_numbers(self.seed, rng), False)
        change = texts.mutate_script if self.form == "script" else texts.mutate_table
        text, done = change(self.seed, rng)
        return text.encode("utf-8", "replace"), done, False


def _plan_of(*options):
    return ("plan", *options, *SEARCH)


def readers():
    """All of them; files beside the changed one are in `shared`."""
    on = ("--cluster", "c.yaml", "--devices", "2")
    gpt = ("--model", "gpt", "-p", "layers=1", "-p", "hidden=128", "-p", "heads=2", "-p", "vocabulary=256", "-p", "sequence=128",
           "-p", "element_bytes=2")
    piper = json.loads((SEEDS / "piper/two.json").read_text())
    pipedream = (SEEDS / "pipedream_graph/three.txt").read_text()
    imported = _plan_of("--model", "out.json", *on, "--costs", "out.yaml")
    return [
        Reader("piper", "bad.json", Tree(piper),
               [("import", "piper-json", "bad.json", "--unit", "ms", "-o", "out.json", "--costs", "out.yaml", "--force"), imported], "json"),
        Reader("pipedream", "bad.txt", pipedream,
               [("import", "pipedream-graph", "bad.txt", "--batch", "8", "-o", "out.json", "--costs", "out.yaml", "--force"), imported],
               "text"),
        Reader("config with images", "bad.json", Tree(json.loads((SEEDS / "hf_config/llava15_7b.json").read_text())),
               [("import", "hf", "bad.json", "-o", "out.yaml", "--force")], "json"),
        Reader("measured runs", "bad.csv", "plan,iteration_s,memory_gib\np.yaml,0.001,0.5\n",
               [("calibrate", "fit", "bad.csv", "--json")], "table"),
        Reader("model", "bad.json", Tree(MODEL), [_plan_of("--model", "bad.json", *on)], "json"),
        Reader("config", "bad.json", Tree(QWEN), [_plan_of("--model", "bad.json", *on)], "json"),
        Reader("config with experts", "bad.json", Tree(MIXTRAL), [_plan_of("--model", "bad.json", *on)], "json"),
        Reader("megatron yaml", "bad.yaml", Tree(MEGATRON),
               [("import", "megatron", "bad.yaml", "--gpus", "8xA100-80", "--devices", "8", "-o", "out.yaml", "--force"),
                ("simulate", "out.yaml", "--json")], "yaml"),
        Reader("megatron script", "bad.sh", SCRIPT,
               [("import", "megatron", "bad.sh", "--gpus", "8xA100-80", "--devices", "8", "-o", "out.yaml", "--force"),
                ("simulate", "out.yaml", "--json")], "script"),
        Reader("cluster", "bad.yaml", Tree(CLUSTER), [_plan_of("--model", "m.json", "--cluster", "bad.yaml")], "yaml"),
        Reader("profile", "bad.yaml", Tree(PROFILE), [_plan_of("--model", "m.json", *on, "--costs", "bad.yaml")], "yaml"),
        Reader("kernel tables", "bad.yaml", Tree(TABLES),
               [("plan", *gpt, *on, "--mini-batch", "4", "--planner", "data_parallel", "--json", "--costs", "bad.yaml")], "yaml"),
        Reader("kernel csv", "bad.csv", GEMM,
               [("import", "kernels", "bad.csv", "-o", "out.yaml", "--force"),
                ("plan", *gpt, *on, "--mini-batch", "4", "--planner", "data_parallel", "--json", "--costs", "out.yaml")], "table"),
        Reader("simumax", "bad.json", Tree(SIMUMAX),
               [("import", "kernels", "bad.json", "-o", "out.yaml", "--force"),
                ("plan", *gpt, *on, "--mini-batch", "4", "--planner", "data_parallel", "--json", "--costs", "out.yaml")], "json"),
        Reader("plan", "bad.yaml", Tree(PLAN), [("simulate", "bad.yaml", "--json")], "yaml"),
        Reader("profile of torch", "bad.json", Tree(KINETO), [("import", "trace", "bad.json", "--plan", "p.yaml", "--json")], "json"),
        Reader("schedule", "bad.csv", SCHEDULE, [("schedule", "bad.csv", "--json")], "table"),
        Reader("experiment", "bad.yaml", Tree(EXPERIMENT), [("run", "bad.yaml", "-o", "out", "--json")], "yaml"),
        Reader("perturbation", "bad.yaml", Tree(PERTURBATION), [("simulate", "p.yaml", "--perturbation", "bad.yaml", "--json")], "yaml"),
        Reader("published runs", "bad.csv", RUNS, [("validate", "--against", "bad.csv", "--clusters", ".")], "table"),
    ]


def shared(folder):
    """Files that the commands read beside the changed one."""
    folder = pathlib.Path(folder)
    (folder / "m.json").write_text(trees.json_text(MODEL))
    (folder / "c.yaml").write_text(trees.yaml_text(CLUSTER))
    (folder / "p.yaml").write_text(trees.yaml_text(PLAN))



