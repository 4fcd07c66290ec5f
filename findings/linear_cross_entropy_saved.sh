#!/usr/bin/env bash
# question: torch.nn.functional.linear_cross_entropy joins the head and the loss. Which tensors does it keep for the backward
#   pass, by default and with LinearCrossEntropyOptions()?
# guess: By default no logits. With options the gradients of input and weight, as saved tensors.
# saw: By default it computes the logits and keeps them. With options it keeps no logits. It does keep the gradients of input
#   and weight, which the forward pass computes, but saved_tensors_hooks sees no tensor at all.
# matters: The name alone saves no memory. With options a buffer as large as the head's weight lives from the forward to the
#   backward pass, and tools that count or offload activations with saved_tensors_hooks miss it.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
"$python" - <<'PYTHON'
import torch
from memory import measure

TOKENS, WIDTH, CLASSES = 512, 64, 2048
hidden = torch.randn(TOKENS, WIDTH, requires_grad=True)
head = torch.randn(CLASSES, WIDTH, requires_grad=True)
target = torch.randint(CLASSES, (TOKENS,))


def kept(options):
    """Shapes that the hooks see, and bytes that live after the forward pass."""
    shapes = []

    def pack(tensor):
        if tensor.data_ptr() not in (hidden.data_ptr(), head.data_ptr(), target.data_ptr()):
            shapes.append(tuple(tensor.shape))
        return tensor

    def forward():
        return torch.nn.functional.linear_cross_entropy(hidden, head, target, options=options)

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = forward()
    loss.backward()
    return shapes, measure(forward)[1]


for name, options in (("default", None), ("options", torch.nn.LinearCrossEntropyOptions())):
    shapes, alive = kept(options)
    print(f"{name}: hooks see {shapes}; alive after the forward pass: {alive} bytes")
    if options is None:
        assert (TOKENS, CLASSES) in shapes
        assert alive >= 4 * TOKENS * CLASSES
    else:
        assert shapes == []
        assert 4 * WIDTH * (TOKENS + CLASSES) <= alive < 4 * TOKENS * CLASSES
PYTHON
