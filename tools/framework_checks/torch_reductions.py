"""Precision in which FSDP2 reduces gradients, by accelerate's own plugin and by torch, compared with `simulate --traffic`.

transformers builds a Llama with fp32 weights; torch's fully_shard divides it on a fake process group, on a CPU. A micro-batch
runs forward and backward. Bytes of reduce-scatters are counted, and compared with those of a plan with ZeRO 3 and `mixed_bf16`.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
from accelerate import FullyShardedDataParallelPlugin
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, LlamaConfig

DEVICES = (8, 64)


def config():
    return LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8,
                       num_key_value_heads=8, vocab_size=1024, max_position_embeddings=64, tie_word_embeddings=False)


def policy_of(framework):
    if framework == "pytorch":
        return MixedPrecisionPolicy(param_dtype=torch.bfloat16)
    plugin = FullyShardedDataParallelPlugin(fsdp_version=2)
    plugin.set_mixed_precision("bf16")
    return plugin.mixed_precision_policy


class Count(TorchDispatchMode):
    """Bytes of the tensors that are scattered."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if "c10d" in str(func) and "reduce_scatter" in str(func):
            tensors = [each for each in (*args, out) if isinstance(each, torch.Tensor)]
            self.bytes += max(each.numel() * each.element_size() for each in tensors)
        return out


def by_torch(framework, devices):
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=devices)
    mesh = init_device_mesh("cpu", (devices,))
    model = AutoModelForCausalLM.from_config(config())
    for part in [*model.model.layers, model]:
        fully_shard(part, mesh=mesh, mp_policy=policy_of(framework))
    with Count() as count:
        model(torch.zeros(1, 16, dtype=torch.long)).logits.float().sum().backward()
    dist.destroy_process_group()
    return count.bytes


def by_penstock(penstock, framework, devices, folder):
    file, plan = pathlib.Path(folder, "config.json"), pathlib.Path(folder, "plan.yaml")
    file.write_text(json.dumps({**config().to_dict(), "model_type": "llama", "architectures": ["LlamaForCausalLM"]}))
    subprocess.run([penstock, "plan", "--model", str(file), "--gpus", f"8xH100x{devices // 8}", "--for", framework, "--planner",
                    "data_parallel", "--precision", "mixed_bf16", "--mini-batch", str(devices), "-o", str(plan), "--force"],
                   check=True, capture_output=True)
    plan.write_text(plan.read_text().replace("    k: 1\n", "    k: 1\n    zero: 3\n"))
    told = json.loads(subprocess.run([penstock, "simulate", str(plan), "--traffic", "--json"], check=True,
                                     capture_output=True, text=True).stdout)
    return sum(row["bytes"] for row in told["traffic"][0]["rows"] if row["collective"] == "reduce-scatter")


def main():
    penstock, wrong = sys.argv[1], 0
    os.environ["ACCELERATE_USE_FSDP"] = "true"
    cases = [(framework, devices) for framework in ("accelerate", "pytorch") for devices in DEVICES]
    for framework, devices in cases:
        with tempfile.TemporaryDirectory() as folder:
            torchs, ours = by_torch(framework, devices), by_penstock(penstock, framework, devices, folder)
        wrong += torchs != ours
        print(f"{framework:10} {devices:3} ranks: {torchs} bytes scattered" + ("" if torchs == ours else f", penstock: {ours}"))
    print(f"{len(cases) - wrong} of {len(cases)} equal")
    sys.exit(1 if wrong else 0)


main()
