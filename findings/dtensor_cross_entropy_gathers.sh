#!/usr/bin/env bash
# question: cross_entropy of DTensor logits that are sharded by samples (plain data parallelism): which collectives does it
#   issue, for 8 samples and for 7 samples on 2 ranks?
# guess: None for 8, as each rank has its samples; for 7, where a mean of unequal parts is needed, it gathers the logits.
# saw: For both it gathers all logits and targets on every rank, and the loss is replicated. Only the mean does so:
#   reduction="sum" gathers nothing and leaves a pending sum.
# matters: Logits are the largest activation of a language model. A plan that keeps them sharded must take the sum and
#   divide it, or use local tensors; else each rank holds the logits of all, and the loss is computed as often as there are ranks.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import torch
from ranks import Collectives, run
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor

CLASSES = 16


def check(rank):
    mesh = init_device_mesh("cpu", (2,))
    for samples, reduction in ((8, "mean"), (7, "mean"), (8, "sum"), (8, "none")):
        logits = distribute_tensor(torch.randn(samples, CLASSES), mesh, [Shard(0)])
        target = distribute_tensor(torch.randint(CLASSES, (samples,)), mesh, [Shard(0)])
        with Collectives() as seen:
            loss = torch.nn.functional.cross_entropy(logits, target, reduction=reduction)
        if rank == 0:
            print(f"{samples} samples, {reduction}: {seen.calls}, loss {loss.placements}")
        if reduction == "mean":
            assert seen.calls == [("all_gather_into_tensor", 4 * CLASSES), ("all_gather_into_tensor", 4)]
            assert loss.placements == (Replicate(),)
        else:
            assert seen.calls == []
            assert loss.placements == (Partial() if reduction == "sum" else Shard(0),)


if __name__ == "__main__":
    run(check, 2)
PYTHON
"$python" "$work/check.py"
