#!/usr/bin/env bash
# question: checkpoint_sequential of 8 linear layers in 4 segments: how many layers run again in the backward pass?
# guess: 6. The last segment is not checkpointed; the other three run again.
# saw: 3. Of each segment of two layers the last one does not run again, as its result is not needed for any gradient and
#   the recomputation stops before it. With use_reentrant=True it is 6.
# matters: The time of recomputation depends on the size of segments beyond their number: with one layer per segment and linear
#   layers nothing runs again. A planner that charges whole segments charges twice as much here.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
"$python" - <<'PYTHON'
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint_sequential


class Products(TorchDispatchMode):
    """Counts products with a bias, which run in forward passes only."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function is torch.ops.aten.addmm.default
        return function(*args, **(kwargs or {}))


def again(segments, **options):
    layers = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(8)])
    result = checkpoint_sequential(layers, segments, torch.randn(4, 16, requires_grad=True), **options)
    with Products() as seen:
        result.sum().backward()
    return seen.count


for segments, whole, stopped in ((4, 6, 3), (2, 4, 3), (8, 7, 0)):
    found = again(segments, use_reentrant=True), again(segments, use_reentrant=False)
    print(f"{segments} segments: {found[0]} layers again if reentrant, else {found[1]}")
    assert found == (whole, stopped)
PYTHON
