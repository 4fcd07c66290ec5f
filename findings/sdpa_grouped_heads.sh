#!/usr/bin/env bash
# question: scaled_dot_product_attention with enable_gqa on the CPU, 8 heads of queries on 2 of keys: what is kept for the
#   backward pass?
# guess: The CPU kernel has no grouped heads, so torch repeats keys and values and keeps the scores [heads, length, length].
# saw: The fused kernel takes grouped heads: keys and values are kept as they are, without scores. Dropout alone makes it
#   compute and keep the scores. A boolean mask is turned into floating point and kept.
# matters: Memory of attention measured on a CPU with dropout does not carry over to a GPU: the scores are in it. Without
#   dropout it does carry over, also for grouped heads.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
"$python" - <<'PYTHON'
import torch

LENGTH = 32
query = torch.randn(1, 8, LENGTH, 16, requires_grad=True)
key = torch.randn(1, 2, LENGTH, 16, requires_grad=True)
value = torch.randn(1, 2, LENGTH, 16, requires_grad=True)


def kept(**options):
    """Shapes of tensors that are kept beside query, key and value."""
    inputs = {tensor.data_ptr() for tensor in (query, key, value)}
    seen = {}

    def pack(tensor):
        if tensor.data_ptr() not in inputs:
            seen[tensor.data_ptr()] = (tuple(tensor.shape), str(tensor.dtype))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = torch.nn.functional.scaled_dot_product_attention(query, key, value, enable_gqa=True, **options)
    del result
    return sorted(seen.values())


plain, masked, dropped = kept(), kept(attn_mask=torch.ones(LENGTH, LENGTH, dtype=torch.bool)), kept(dropout_p=0.1)
print("plain:", plain)
print("boolean mask:", masked)
print("dropout:", dropped)
output, sums = ((1, 8, LENGTH, 16), "torch.float32"), ((1, 8, LENGTH), "torch.float32")
assert plain == [sums, output]
assert masked == sorted([sums, output, ((LENGTH, LENGTH), "torch.float32")])
assert any(shape[-2:] == (LENGTH, LENGTH) for shape, _ in dropped)
PYTHON
