#!/usr/bin/env bash
# question: torch.distributed.nn.functional.all_gather, which gradients pass through, on gloo: which collective runs backward?
# guess: One all-to-all, followed by a local sum.
# saw: A scatter from every rank in turn, N calls for N ranks, though gloo has an all-to-all.
# matters: Backward passes of contrastive losses or of sequence parallelism by this function, timed on CPUs, grow with N
#   latencies. They say nothing about the reduce-scatter that runs on GPUs.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import warnings

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable
from ranks import run
from torch.profiler import ProfilerActivity, profile


def check(rank):
    warnings.simplefilter("ignore")
    ranks = dist.get_world_size()
    values = torch.ones(4, requires_grad=True)
    total = torch.cat(differentiable.all_gather(values)).sum()
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        total.backward()
    calls = [event.name for event in recorded.events() if event.name.startswith("gloo")]
    if rank == 0:
        print(f"{ranks} ranks: {calls}")
    assert calls == ["gloo:scatter"] * ranks
    assert torch.equal(values.grad, torch.full((4,), float(ranks)))
    dist.all_to_all_single(torch.empty(2 * ranks), torch.ones(2 * ranks))


if __name__ == "__main__":
    run(check, 2)
    run(check, 3)
PYTHON
"$python" "$work/check.py"
