#!/usr/bin/env bash
# question: A norm with SequenceParallel, each rank with its part of the sequence: when is its weight's gradient summed over
#   the ranks?
# guess: By one all-reduce at the end of the backward pass.
# saw: Not in the backward pass: the gradient stays a pending sum (Partial). AdamW then issues three all-reduces for each such
#   parameter, as each use of the gradient reduces it again, also with foreach. With fused=True it is one. Clipping the
#   gradients before adds one and leaves them pending. SGD with momentum keeps even its state pending. Only if FSDP2 wraps
#   the norm as well, each backward pass issues one all-reduce and the step none.
# matters: A planner that counts one small all-reduce per norm and step counts a third of them, or a quarter with clipping:
#   for 100 norms hundreds of latencies in the optimizer step, which nothing hides.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import torch
from ranks import Collectives, run
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.parallel import SequenceParallel, parallelize_module


def check(rank):
    mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("data", "tensor"))

    def calls(optimizer, clip=False, wrap=False, **options):
        """Collectives of the backward pass, of clipping and of the step, for a norm's only parameter."""
        norm = torch.nn.Sequential(torch.nn.LayerNorm(8, bias=False))
        parallelize_module(norm, mesh["tensor"], {"0": SequenceParallel()})
        if wrap:
            fully_shard(norm, mesh=mesh["data"])
        optimizer = optimizer(norm.parameters(), **options)
        loss = norm(torch.randn(2, 4, 8)).to_local().sum()
        with Collectives() as backward:
            loss.backward()
        with Collectives() as clipping:
            if clip:
                torch.nn.utils.clip_grad_norm_(norm.parameters(), 1.0)
        assert norm[0].weight.grad.placements == ((Shard(0), Replicate()) if wrap else (Partial(),))
        with Collectives() as step:
            optimizer.step()
        result = [[name for name, _ in seen.calls] for seen in (backward, clipping, step)]
        if rank == 0:
            print(optimizer.__class__.__name__, options, "backward, clipping, step:", result)
        return *map(len, result), optimizer.state[norm[0].weight]

    assert calls(torch.optim.AdamW)[:3] == (0, 0, 3)
    assert calls(torch.optim.AdamW, clip=True)[:3] == (0, 1, 3)
    assert calls(torch.optim.AdamW, foreach=True)[:3] == (0, 0, 3)
    assert calls(torch.optim.AdamW, wrap=True)[:3] == (1, 0, 0)
    *counts, state = calls(torch.optim.AdamW, fused=True)
    assert counts == [0, 0, 1] and state["exp_avg"].placements == (Replicate(),)
    *counts, state = calls(torch.optim.SGD, lr=0.1, momentum=0.9)
    assert counts == [0, 0, 1] and state["momentum_buffer"].placements == (Partial(),)


if __name__ == "__main__":
    run(check, 2)
PYTHON
"$python" "$work/check.py"
