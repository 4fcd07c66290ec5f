"""Weights that FSDP2 stores and gathers of a mixture's layer, compared with memory and traffic by `simulate`.

transformers builds Mixtral; torch's fully_shard divides it on a fake process group. The parts are those of its own
parameters on the last rank, padding included: every rank stores and sends as much. A layer is the difference of two
models with one and with three layers. The router's weight, which torch cuts by experts too, is left out on both sides.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore
from transformers import AutoModelForCausalLM, MixtralConfig

CASES = [(8, 8), (8, 16), (8, 64), (16, 64), (24, 16), (40, 64), (128, 64), (128, 256)]
HIDDEN, BYTES = 256, 2


def config_of(experts, layers):
    return MixtralConfig(hidden_size=HIDDEN, intermediate_size=512, num_hidden_layers=layers, num_attention_heads=8,
                         num_key_value_heads=8, num_local_experts=experts, num_experts_per_tok=2, vocab_size=1024,
                         max_position_embeddings=64, tie_word_embeddings=False)


def by_torch(experts, devices):
    """Bytes that a rank stores, and that it gathers in a pass, of one layer in bf16."""
    dist.init_process_group("fake", store=FakeStore(), rank=devices - 1, world_size=devices)
    mesh = init_device_mesh("cpu", (devices,))
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config_of(experts, 1))
    layer = model.model.layers[0]
    fully_shard(layer, mesh=mesh)
    group = layer._get_fsdp_state()._fsdp_param_groups[0] if hasattr(layer._get_fsdp_state(), "_fsdp_param_groups") else \
        layer._get_fsdp_state()._fsdp_param_group
    stored = sum(each._sharded_param_data.numel() for each in group.fsdp_params
                 if tuple(each._orig_size) != (experts, HIDDEN))
    dist.destroy_process_group()
    return stored * BYTES, stored * devices * BYTES


def by_penstock(penstock, experts, devices, folder):
    """Bytes that a device of a plan with ZeRO 3 for accelerate stores, and that it gathers in a pass, of one layer."""
    stored, gathered = [], []
    for layers in (1, 3):
        config = pathlib.Path(folder, "config.json")
        config.write_text(json.dumps({**config_of(experts, layers).to_dict(), "model_type": "mixtral"}))
        plan = pathlib.Path(folder, "plan.yaml")
        subprocess.run([penstock, "plan", "--model", str(config), "--gpus", f"8xH100x{devices // 8}", "--for", "accelerate",
                        "--planner", "data_parallel", "--mini-batch", str(devices), "-o", str(plan), "--force"],
                       check=True, capture_output=True)
        plan.write_text(plan.read_text().replace("    k: 1\n", "    k: 1\n    zero: 3\n"))
        told = json.loads(subprocess.run([penstock, "simulate", str(plan), "--traffic", "--json"], check=True,
                                         capture_output=True, text=True).stdout)
        stored.append(told["stages"][0]["memory_bytes"]["weights"])
        gathered.append(sum(row["bytes"] for row in told["traffic"][0]["rows"] if row["collective"] == "all-gather"))
    router = experts * HIDDEN * BYTES  # in equal parts, and gathered twice
    return (stored[1] - stored[0]) // 2 - router // devices, (gathered[1] - gathered[0]) // 4 - router


def main():
    penstock, wrong = sys.argv[1], 0
    print(f"{'experts':>7} {'ranks':>5} {'stored':>9} {'gathered':>10}")
    for experts, devices in CASES:
        with tempfile.TemporaryDirectory() as folder:
            torchs, ours = by_torch(experts, devices), by_penstock(penstock, experts, devices, folder)
        same = all(abs(a - b) <= 8 for a, b in zip(torchs, ours))  # parts are rounded up once per layer
        wrong += not same
        print(f"{experts:7} {devices:5} {torchs[0]:9} {torchs[1]:10}" + ("" if same else f"  penstock: {ours}"))
    print(f"{len(CASES) - wrong} of {len(CASES)} equal")
    sys.exit(1 if wrong else 0)


main()
