#!/usr/bin/env bash
# question: torch.distributed.checkpoint saves a DTensor of 2 rows over 3 ranks, so that one rank holds none. How many files
#   with tensors does it write?
# guess: 2. The rank without rows has nothing to write.
# saw: 3. A shard of zero rows is written too, and each shard is an archive of its own with over 1,400 bytes beside its numbers.
# matters: A model of checkpoint traffic needs an overhead per shard: parameters times ranks times 1.5 kB, for empty shards
#   too. 1,000 parameters on 1,024 ranks take 1.5 GB that hold no number.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import os
import pathlib

import torch
import torch.distributed.checkpoint as checkpoint
from ranks import run
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor


def check(rank):
    folder = os.environ["SAVED"]
    weight = distribute_tensor(torch.ones(2, 100), init_device_mesh("cpu", (3,)), [Shard(0)])
    checkpoint.save({"weight": weight}, checkpoint_id=folder)
    rows, size = weight.to_local().shape[0], pathlib.Path(folder, f"__{rank}_0.distcp").stat().st_size
    print(f"rank {rank}: {rows} rows of 400 bytes, {size} bytes written", flush=True)
    assert rows == (1, 1, 0)[rank]
    assert 1400 < size - 400 * rows < 2000


if __name__ == "__main__":
    run(check, 3)
PYTHON
SAVED=$work/saved "$python" "$work/check.py"
