#!/usr/bin/env bash
# question: MPICH on one host: do the bits of the first element of an all-reduce (fp32 sum) depend on the number of
#   elements behind it?
# guess: Yes, as the algorithm changes with the size.
# saw: No. On 3, 4 and 5 ranks the first elements have the same bits from 4 bytes to 4 MiB. MPI_Reduce differs instead: on
#   5 ranks it agrees with the all-reduce below 16 elements and from 1,024 elements on, and has other bits in between.
# matters: Under MPICH a bucket size for gradients does not change results, so replays with other buckets can be compared
#   bit by bit. A reduce and a broadcast in place of an all-reduce cannot.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install mpi4py==4.1.2 mpich==5.0.2 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
numbers = np.random.default_rng(world.rank).standard_normal(1 << 20).astype(np.float32)
whole = np.empty_like(numbers)
world.Allreduce(numbers, whole)
others = []
for count in (1, 2, 4, 16, 64, 256, 512, 1024, 4096, 65536, 1 << 18):
    part, reduced = np.empty(count, np.float32), np.empty(count, np.float32)
    world.Allreduce(numbers[:count].copy(), part)
    world.Reduce(numbers[:count].copy(), reduced, root=0)
    assert all(np.array_equal(part, other) for other in world.allgather(part)), "ranks differ"
    assert np.array_equal(part, whole[:count]), f"{count} elements: other bits"
    if world.rank == 0 and not np.array_equal(part, reduced):
        others.append(count)
if world.rank == 0:
    print(f"{world.size} ranks: all-reduce has the same bits at all sizes; sizes at which a reduce has others: {others}")
    assert others == ([16, 64, 256, 512] if world.size == 5 else [])
PYTHON
for ranks in 3 4 5; do
  "$(dirname "$python")/mpiexec" -n "$ranks" "$python" "$work/check.py"
done
