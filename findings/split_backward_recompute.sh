#!/usr/bin/env bash
# question: Zero-bubble schedules split the backward pass (stage_backward_input, stage_backward_weight of pipelining). If the
#   block is checkpointed, how often is its forward pass computed again?
# guess: Twice: for the input's gradient, and once more for the weights' gradients.
# saw: Once for the input's gradient, then once for each layer with weights: torch computes the weights' gradients layer by
#   layer, and each of these passes computes the block again. A block of 6 linear layers is computed 7 times.
# matters: With activation checkpointing a split backward pass costs many forward passes, not one: a plan that combines a
#   zero-bubble schedule with recomputation is slower by far than a planner with one recomputation predicts.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
"$python" - <<'PYTHON'
import torch
from torch.distributed.pipelining._backward import stage_backward_input, stage_backward_weight
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint


class Products(TorchDispatchMode):
    """Counts products with a bias, which run in forward passes only."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function is torch.ops.aten.addmm.default
        return function(*args, **(kwargs or {}))


def again(layers):
    """Forward products that run again in the whole backward pass, for the input's gradient, and for the weights'."""
    block = torch.nn.Sequential(*[layer for _ in range(layers) for layer in (torch.nn.Linear(16, 16), torch.nn.GELU())])
    values = torch.randn(4, 16, requires_grad=True)
    result = checkpoint(block, values, use_reentrant=False)
    with Products() as whole:
        result.sum().backward()
    result = checkpoint(block, values, use_reentrant=False)
    with Products() as of_input:
        _, groups = stage_backward_input([result], [torch.ones_like(result)], [values], iter(block.parameters()))
    with Products() as of_weights:
        stage_backward_weight(iter(block.parameters()), groups)
    return whole.count, of_input.count, of_weights.count


for layers in (1, 2, 6):
    found = again(layers)
    print(f"{layers} layers: whole backward {found[0]} products again, split {found[1]} + {found[2]}")
    assert found == (layers, layers, layers * layers)
PYTHON
