#!/usr/bin/env bash
# question: How many buffers for received activations exist at once in a step of Schedule1F1B with 16 micro-batches?
# guess: 16 on every stage that receives: all are allocated before the first pass.
# saw: Buffers are allocated one by one. A middle stage holds no more of them for 16 micro-batches than for 4. The last stage
#   frees none before the step ends, although it has one micro-batch in flight: the schedule keeps each loss, the loss keeps
#   its graph, and the graph's leaf is the received activation. Interleaved 1F1B does the same on its last stage.
# matters: The last stage's memory grows with the number of micro-batches: 64 of 8,192 tokens with a width of 8,192 in 16 bits
#   are 8 GiB. A planner that counts micro-batches in flight misses all but one of them.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import gc
import warnings

import torch
import torch.distributed as dist
from ranks import run
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B

ROWS, WIDTH = 4, 24


def received():
    """Live tensors of a micro-batch's shape that a stage received: leaves that want a gradient."""
    gc.collect()
    tensors = [found for found in gc.get_objects() if type(found) is torch.Tensor]
    return sum(found.shape == (ROWS, WIDTH) and found.is_leaf and found.requires_grad for found in tensors)


def most(rank, schedule, stages, micro_batches):
    """The largest number of received activations on this rank when a forward pass begins, and the number after the step."""
    ranks, counts = dist.get_world_size(), []
    owned = [PipelineStage(torch.nn.Linear(WIDTH, WIDTH), stage, stages, torch.device("cpu"))
             for stage in range(rank, stages, ranks)]
    for stage in owned:
        stage.submod.register_forward_pre_hook(lambda *_: counts.append(received()))
    made = schedule(owned if len(owned) > 1 else owned[0], micro_batches, loss_fn=lambda output, _: output.sum())
    values = torch.randn(ROWS * micro_batches, WIDTH)
    if rank == 0:
        made.step(values, return_outputs=False)
    elif rank == ranks - 1:
        made.step(target=values, return_outputs=False)
    else:
        made.step(return_outputs=False)
    return max(counts), received()


def check(rank):
    warnings.simplefilter("ignore")
    for schedule, stages in ((Schedule1F1B, 3), (ScheduleInterleaved1F1B, 6)):
        few, many = most(rank, schedule, stages, 6), most(rank, schedule, stages, 18)
        print(f"{schedule.__name__}, rank {rank}: {few[0]} with 6 micro-batches, {many[0]} with 18; after: {many[1]}", flush=True)
        if rank == 2:
            assert many[0] - few[0] == 12
        elif schedule is Schedule1F1B:
            assert many[0] == few[0]
        assert many[1] == 0


if __name__ == "__main__":
    run(check, 3)
PYTHON
"$python" "$work/check.py"
