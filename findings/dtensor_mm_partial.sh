#!/usr/bin/env bash
# question: Which collectives does a product of two DTensors issue if the second factor is a pending sum (Partial)?
# guess: mm(Shard(0), Partial): one all-reduce of the second factor, the result is Shard(0).
#   mm(Replicate, Partial): one reduce-scatter of the second factor, the result is Shard(1).
# saw: mm(Replicate, Partial) issues none and stays Partial. mm(Shard(0), Partial) gathers the FIRST factor and stays
#   Partial: the sum is pushed behind the product. mm(Partial, Partial) reduces one factor and stays Partial.
# matters: A planner that charges the reduction at its producer puts it before the product, with the size of the factor.
#   torch reduces the result, which may be larger (here twice), at the next operation that is not linear.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import torch
from ranks import Collectives, run
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor


def check(rank):
    mesh = init_device_mesh("cpu", (2,))

    def factor(rows, columns, placement):
        if placement == Partial():
            return DTensor.from_local(torch.ones(rows, columns), mesh, [Partial()])
        return distribute_tensor(torch.ones(rows, columns), mesh, [placement])

    # The product [8, 4] x [4, 32] has 256 elements, its factors 32 and 128.
    expected = {
        (Replicate(), Partial()): [],
        (Shard(0), Partial()): [("all_gather_into_tensor", 16)],
        (Partial(), Partial()): [("all_reduce", 32)],
    }
    for (first, second), calls in expected.items():
        one, two = factor(8, 4, first), factor(4, 32, second)
        with Collectives() as seen:
            product = one @ two
        with Collectives() as later:
            product.relu()
        if rank == 0:
            print(f"mm({first}, {second}): {seen.calls}, result {product.placements[0]}; relu of it: {later.calls}")
        assert seen.calls == calls
        assert product.placements == (Partial(),)
        assert later.calls == [("all_reduce", 256)]


if __name__ == "__main__":
    run(check, 2)
PYTHON
"$python" "$work/check.py"
