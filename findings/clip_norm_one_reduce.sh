#!/usr/bin/env bash
# question: How many all-reduces does clip_grad_norm_ issue for 12 sharded parameters (DTensor)?
# guess: 12. Each norm is a pending sum, which is reduced before the norms are stacked.
# saw: One, of 12 elements. The stack keeps the pending norms, and one call reduces them. Parameters of two meshes, such as
#   experts and the rest, raise an error instead.
# matters: A simulator that charges one call per parameter adds hundreds of latencies to each optimizer step of a large model.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import torch
from ranks import Collectives, run
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor


def parameter(mesh):
    result = torch.nn.Parameter(distribute_tensor(torch.randn(8, 8), mesh, [Shard(0)]))
    result.grad = distribute_tensor(torch.ones(8, 8), mesh, [Shard(0)])
    return result


def check(rank):
    mesh = init_device_mesh("cpu", (2,))
    parameters = [parameter(mesh) for _ in range(12)]
    with Collectives() as seen:
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    if rank == 0:
        print("12 parameters:", seen.calls)
    assert seen.calls == [("all_reduce", 12)]

    other = init_device_mesh("cpu", (2, 1), mesh_dim_names=("experts", "rest"))["experts"]
    try:
        torch.nn.utils.clip_grad_norm_([parameters[0], parameter(other)], 1.0)
        print("two meshes: runs")
        raise AssertionError("two meshes no longer raise")
    except (RuntimeError, ValueError) as error:
        if rank == 0:
            print("two meshes:", str(error)[:120])


if __name__ == "__main__":
    run(check, 2)
PYTHON
"$python" "$work/check.py"
