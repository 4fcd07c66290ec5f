#!/usr/bin/env bash
# question: Do torch and ml_dtypes (JAX, NumPy) round fp32 numbers to float8_e8m0fnu, the scale of MX formats, in the same
#   way?
# guess: The same: to the nearest, ties to even.
# saw: Ties go up in both (3 becomes 4, 6 becomes 8). 0 is not the same: torch gives 2^-127, ml_dtypes NaN. The type has
#   no zero.
# matters: The scale of a block of zeros (padding, unused experts, masked tokens) is 0 before the cast. One recipe then
#   trains in one framework and spreads NaN in the other, and a comparison of the two fails on padding.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
add ml_dtypes==0.6.0
cat > "$work/check.py" <<'PYTHON'
import math

import ml_dtypes
import numpy as np
import torch

values = [1.4, 1.5, 2.9, 3.0, 5.0, 6.0, 7.0, 1e-40, 448.0]
numpy_ = np.array(values, np.float32).astype(ml_dtypes.float8_e8m0fnu).astype(np.float32).tolist()
torch_ = torch.tensor(values).to(torch.float8_e8m0fnu).float().tolist()
print("values   ", values)
print("ml_dtypes", numpy_)
print("torch    ", torch_)
assert numpy_ == torch_
assert torch_[values.index(3.0)] == 4 and torch_[values.index(6.0)] == 8

block = np.zeros(32, np.float32)
scale = np.abs(block).max(keepdims=True) / 448
one = scale.astype(ml_dtypes.float8_e8m0fnu).astype(np.float32)
other = torch.from_numpy(scale).to(torch.float8_e8m0fnu).float().numpy()
print("scale of a block of zeros: ml_dtypes", one, "torch", other)
print("scaled block: ml_dtypes", (block / one)[:3], "torch", (block / other)[:3])
assert math.isnan(one[0]) and other[0] == 2.0**-127
assert np.isnan(block / one).all() and not (block / other).any()
PYTHON
"$python" "$work/check.py"
