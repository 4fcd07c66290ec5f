#!/usr/bin/env bash
# question: torch.compile cuts forward from backward by a min-cut that may recompute cheap operations. What does it keep of
#   x + W2 gelu(W1 norm(x)), with a hidden layer 4 times as wide, beside x and the weights?
# guess: The column of the norm and the activation before gelu. Norm and gelu are cheap, so their results are computed again.
# saw: Also the results of the norm and of gelu: of eager mode's five further tensors it drops one, a copy of x's size. The
#   products of the backward pass read both results, so they would have to be in memory anyhow.
# matters: torch.compile does not halve the activations of a block, as a planner may hope. Activation checkpointing still has
#   to be planned for compiled models.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
"$python" - <<'PYTHON'
import torch

TOKENS, WIDTH, HIDDEN = 32, 64, 256


def block(values, scale, up, down):
    hidden = torch.nn.functional.linear(torch.nn.functional.rms_norm(values, (WIDTH,), scale), up)
    return values + torch.nn.functional.linear(torch.nn.functional.gelu(hidden), down)


arguments = [torch.randn(shape, requires_grad=True) for shape in ((TOKENS, WIDTH), (WIDTH,), (HIDDEN, WIDTH), (WIDTH, HIDDEN))]


def kept(function):
    seen, inputs = {}, {tensor.data_ptr() for tensor in arguments}
    function(*arguments)

    def pack(tensor):
        if tensor.data_ptr() not in inputs:
            seen[tensor.data_ptr()] = tuple(tensor.shape)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = function(*arguments)
    del result
    return sorted(seen.values())


# The backend partitions as inductor does, but needs no compiler of C++.
eager, compiled = kept(block), kept(torch.compile(block, backend="aot_eager_decomp_partition"))
print("eager:", eager)
print("compiled:", compiled)
column, narrow, wide = (TOKENS, 1), (TOKENS, WIDTH), (TOKENS, HIDDEN)
assert eager == [column, narrow, narrow, wide, wide]
assert compiled == [column, narrow, wide, wide]
PYTHON
