#!/usr/bin/env bash
# question: DistributedDataParallel of 8 linear layers of 4 MiB each, with the default 25 MiB buckets: which buckets of gradients
#   does it reduce in the first and in later iterations?
# guess: In all iterations 4 MiB of the last layer (the first bucket is small), then 28 MiB.
# saw: In the first iteration a single bucket of 32 MiB, so nothing overlaps. From the second on 4 MiB and 28 MiB.
# matters: A trace or a timing of the first iteration shows a reduction after the backward pass, not during it. A profile for
#   a planner must begin later.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import torch
import torch.distributed as dist
from ranks import run

LAYERS = 8


def check(rank):
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024, bias=False) for _ in range(LAYERS)])
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    iterations = []

    def record(_, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        iterations[-1].append(4 * bucket.buffer().numel() >> 20)
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    parallel.register_comm_hook(None, record)
    for _ in range(3):
        iterations.append([])
        parallel(torch.randn(1, 1024)).sum().backward()
    if rank == 0:
        print("MiB of the buckets, per iteration:", iterations)
    assert iterations == [[32], [4, 28], [4, 28]]


if __name__ == "__main__":
    run(check, 2)
PYTHON
"$python" "$work/check.py"
