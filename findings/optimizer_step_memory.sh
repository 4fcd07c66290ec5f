#!/usr/bin/env bash
# question: How much temporary memory does a step of AdamW take on top of parameters, gradients and state (8 equal parameters)?
# guess: Two parameters with the loop, all 8 with foreach, none fused.
# saw: Three with the loop, 8 with foreach, none fused.
# matters: The step comes when all gradients are there, so its temporary memory can set the peak. With the loop, the largest
#   parameter (the embedding) counts three times; with foreach all parameters count once.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
"$python" - <<'PYTHON'
import torch
from memory import measure

SIDE, COUNT = 512, 8
BYTES = 4 * SIDE * SIDE


def peak(**options):
    """Temporary memory of the second step, in parameters."""
    parameters = [torch.nn.Parameter(torch.randn(SIDE, SIDE)) for _ in range(COUNT)]
    for parameter in parameters:
        parameter.grad = torch.randn(SIDE, SIDE)
    optimizer = torch.optim.AdamW(parameters, **options)
    optimizer.step()
    return measure(optimizer.step)[0] / BYTES


found = {
    "AdamW, loop": peak(foreach=False),
    "AdamW, foreach": peak(foreach=True),
    "AdamW, fused": peak(fused=True),
}
for name, parameters in found.items():
    print(f"{name}: {parameters:.2f} parameters")
assert [round(parameters, 1) for parameters in found.values()] == [3, COUNT, 0]
PYTHON
