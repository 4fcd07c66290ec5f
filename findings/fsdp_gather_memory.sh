#!/usr/bin/env bash
# question: Peak of memory while FSDP2 gathers a unit of P bytes (equal dtypes) on 2 ranks?
# guess: 2 P and a shard: the flat result, the parameters copied out of it, and the flat input of the all-gather.
# saw: 2 P. The input is copied into its own place in the flat result, so it takes nothing.
# matters: The peak of a gather is twice the unit, whatever the number of ranks; smaller units lower it, more ranks do not.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import torch
from memory import measure
from ranks import run
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

SIDE, LAYERS = 1024, 2
UNIT = 4 * LAYERS * SIDE * SIDE


def check(rank):
    mesh = init_device_mesh("cpu", (2,))
    unit = torch.nn.Sequential(*[torch.nn.Linear(SIDE, SIDE, bias=False) for _ in range(LAYERS)])
    model = torch.nn.Sequential(unit)
    fully_shard(unit, mesh=mesh)
    fully_shard(model, mesh=mesh)
    values = torch.randn(1, SIDE)
    with torch.no_grad():
        model(values)
        peak, last = measure(lambda: model(values))
    if rank == 0:
        print(f"peak {peak / UNIT:.3f} units, afterwards {last / UNIT:.3f}")
    assert 2 <= peak / UNIT < 2.01
    assert last / UNIT < 0.01


if __name__ == "__main__":
    run(check, 2)
PYTHON
"$python" "$work/check.py"
