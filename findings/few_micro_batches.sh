#!/usr/bin/env bash
# question: Which schedules of torch.distributed.pipelining refuse fewer micro-batches than stages?
# guess: 1F1B, interleaved 1F1B and both zero-bubble schedules refuse; GPipe and LoopedBFS run. (A first guess was: 1F1B runs.)
# saw: Only 1F1B and DualPipeV refuse. The interleaved and zero-bubble schedules take 2 micro-batches for 8 stages on 4 ranks,
#   and interleaved 1F1B trains with 2 micro-batches on 4 stages of 2 ranks.
# matters: A planner that tries few large micro-batches finds plans for 1F1B that torch does not run. It must not leave out
#   the same plans of the other schedules.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import torch
import torch.distributed.pipelining.schedules as schedules
from ranks import run
from torch.distributed.pipelining import PipelineStage

RANKS, MICRO_BATCHES = 4, 2
REFUSED = {"Schedule1F1B", "ScheduleDualPipeV"}
NAMES = ["Schedule1F1B", "ScheduleGPipe", "ScheduleLoopedBFS", "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble",
         "ScheduleZBVZeroBubble", "ScheduleDualPipeV"]


def stages(name, rank, ranks):
    if not issubclass(getattr(schedules, name), schedules.PipelineScheduleMulti):
        return PipelineStage(torch.nn.Linear(8, 8), rank, ranks, torch.device("cpu"))
    second = 2 * ranks - 1 - rank if name in ("ScheduleZBVZeroBubble", "ScheduleDualPipeV") else rank + ranks
    return [PipelineStage(torch.nn.Linear(8, 8), stage, 2 * ranks, torch.device("cpu")) for stage in (rank, second)]


def make(name, rank, ranks):
    return getattr(schedules, name)(stages(name, rank, ranks), MICRO_BATCHES, loss_fn=lambda output, _: output.sum())


def construct(rank):
    refused = {}
    for name in NAMES:
        try:
            make(name, rank, RANKS)
        except ValueError as error:
            refused[name] = str(error)
    if rank == 0:
        for name in NAMES:
            print(f"{name}: {refused.get(name, 'taken')}")
    assert set(refused) == REFUSED


def train(rank):
    schedule = make("ScheduleInterleaved1F1B", rank, 2)
    losses = []
    schedule.step(*([] if rank else [torch.randn(4, 8)]), **({"target": torch.zeros(4, 8), "losses": losses} if rank else {}))
    assert rank == 0 or len(losses) == MICRO_BATCHES


if __name__ == "__main__":
    run(construct, RANKS)
    run(train, 2)
PYTHON
"$python" "$work/check.py"
