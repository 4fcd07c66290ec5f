#!/usr/bin/env bash
# question: FSDP2 (fully_shard) of an embedding and, apart from it, of the head that shares its weight: what becomes of the tie?
# guess: It is cut without a warning, and the two modules train different weights.
# saw: fully_shard accepts both and the modules hold two different parameters then, but the first forward pass raises an error.
#   fully_shard([embedding, head]) keeps the tie: one parameter, gathered once in each pass.
# matters: Plans that give the embedding and the head units of their own fail for tied models, at the first step and not before.
#   With one unit the whole weight is in memory from the first layer to the last, in both passes.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import torch
from ranks import Collectives, run
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(16, 8)
        self.middle = torch.nn.Linear(8, 8, bias=False)
        self.head = torch.nn.Linear(8, 16, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.middle(self.embedding(tokens)))


def check(rank):
    mesh = init_device_mesh("cpu", (2,))
    tokens = torch.tensor([[1, 2, 3]])

    apart = Tied()
    for unit in (apart.embedding, apart.head, apart):
        fully_shard(unit, mesh=mesh)
    assert apart.embedding.weight is not apart.head.weight
    try:
        apart(tokens)
        error = ""
    except ValueError as raised:
        error = str(raised)
    assert "shared" in error, "two units: the forward pass no longer raises"

    together = Tied()
    fully_shard([together.embedding, together.head], mesh=mesh)
    fully_shard(together.middle, mesh=mesh)
    fully_shard(together, mesh=mesh)
    assert together.embedding.weight is together.head.weight
    with Collectives() as forward:
        loss = together(tokens).sum()
    with Collectives() as backward:
        loss.backward()
    if rank == 0:
        print("two units:", error)
        print("one unit: forward", forward.calls, "backward", backward.calls)
    assert forward.calls == [("allgather_base", 128), ("allgather_base", 64)]


if __name__ == "__main__":
    run(check, 2)
PYTHON
"$python" "$work/check.py"
