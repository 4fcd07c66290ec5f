"""All-to-alls of experts by `simulate --traffic`, compared with those of torchtitan's own token dispatcher.

The dispatcher sends a rank's tokens to their experts and back, forward and backward, on a fake process group, on a CPU. All
experts get equally many tokens. Every all-to-all of tokens is counted with its bytes. The exchange of
how many tokens come, which no plan has, is left out.
"""
import collections
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torchtitan.distributed.utils import set_spmd_backend  # noqa: E402
from torchtitan.models.common.token_dispatcher import AllToAllTokenDispatcher  # noqa: E402

Case = collections.namedtuple("Case", "data tensor context expert experts top_k micro_batches")
SEQUENCE, LAYERS, WIDTH, SAMPLES = 64, 3, 32, 2


def grid():
    out = []
    for data, tensor, context in ((8, 1, 1), (4, 2, 1), (8, 4, 1), (4, 1, 2), (4, 2, 2), (16, 4, 1)):
        for expert in (2, 4, 8):
            for experts, top_k in ((8, 2), (16, 4)):
                out.append(Case(data, tensor, context, expert, experts, top_k, 2))
    return out


def by_penstock(penstock, case, folder):
    devices = case.data * case.tensor * case.context
    words = [
        f"--num-layers {LAYERS} --hidden-size {WIDTH} --num-attention-heads 4 --ffn-hidden-size 64",
        f"--seq-length {SEQUENCE} --max-position-embeddings {SEQUENCE} --vocab-size 512 --make-vocab-size-divisible-by 1",
        "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --bf16",
        "--untie-embeddings-and-output-weights --use-distributed-optimizer",
        f"--num-experts {case.experts} --moe-router-topk {case.top_k} --moe-ffn-hidden-size 64",
        f"--expert-model-parallel-size {case.expert} --expert-tensor-parallel-size 1 --moe-token-dispatcher-type alltoall",
        f"--micro-batch-size {SAMPLES} --global-batch-size {SAMPLES * case.data * case.micro_batches}",
        f"--tensor-model-parallel-size {case.tensor}"]
    if case.tensor > 1:
        words.append("--sequence-parallel")
    if case.context > 1:
        words.append(f"--context-parallel-size {case.context} --cp-comm-type all_gather")
    script, plan = pathlib.Path(folder, "run.sh"), pathlib.Path(folder, "plan.yaml")
    script.write_text("\n".join(words) + "\n")
    done = subprocess.run([penstock, "import", "megatron", str(script), "--gpus", f"8xH100x{devices // 8}", "-o", str(plan)],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    told = subprocess.run([penstock, "simulate", str(plan), "--framework", "torchtitan", "--traffic", "--json"], check=True,
                          capture_output=True, text=True)
    rows = [row for row in json.loads(told.stdout)["traffic"][0]["rows"] if row["collective"] == "all-to-all"]
    return [sum(row["count"] for row in rows), sum(row["bytes"] for row in rows)]


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count, self.bytes = 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if "all_to_all_single" in str(func) and "c10d" in str(func) and args[0].is_floating_point():
            self.count += 1
            self.bytes += args[0].numel() * args[0].element_size()
        return func(*args, **(kwargs or {}))


class EvenDispatcher(AllToAllTokenDispatcher):
    def _token_count_exchange(self, num_local_tokens_per_expert_E, pg, ep_size):
        return num_local_tokens_per_expert_E.view(ep_size, -1)  # as many come as go


def by_torchtitan(case):
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=case.expert)
    dispatcher = EvenDispatcher(AllToAllTokenDispatcher.Config(num_experts=case.experts, top_k=case.top_k))
    dispatcher.wire_meshes(ep_mesh=init_device_mesh("cpu", (case.expert,), mesh_dim_names=("ep",)))
    tokens = SAMPLES * SEQUENCE // case.context // case.tensor
    with Count() as count:
        for _ in range(case.micro_batches * LAYERS):
            x = torch.zeros(tokens, WIDTH, dtype=torch.bfloat16, requires_grad=True)
            ids = torch.arange(tokens * case.top_k).view(tokens, case.top_k) % case.experts
            counts = torch.bincount(ids.flatten(), minlength=case.experts)
            routed, _, metadata = dispatcher.dispatch(x, torch.ones(tokens, case.top_k), ids, counts)
            dispatcher.combine(routed * 2, metadata, x).float().sum().backward()
    dist.destroy_process_group()
    return [count.count, count.bytes]


def main():
    penstock, wrong = sys.argv[1], 0
    set_spmd_backend("full_dtensor")  # else all-to-alls go by a mesh of the whole job
    cases = grid()
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            told = by_penstock(penstock, case, folder)
        seen = by_torchtitan(case)
        wrong += told != seen or not seen[0]
        if told != seen:
            print(f"{case}: {told} told, {seen} seen")
    print(f"the last: {case}: {seen}")
    print(f"{len(cases) - wrong} of {len(cases)} equal")
    sys.exit(1 if wrong else 0)


main()
