#!/usr/bin/env bash
# question: Which messages do two stages of Schedule1F1B exchange, if the first also passes on an integer tensor (such as a
#   mask or positions)? Which further ones in the first step?
# guess: The integer tensor makes it fail, as the next stage wants to return a gradient of it. The first step sends two more
#   messages forward: size and content of a description of the shapes.
# saw: It runs. The integer tensor goes forward with each micro-batch, and no gradient of it comes back. The first step sends
#   three more messages forward, two back, and two all-reduces; all later steps send activations and gradients only.
# matters: Positions or masks that pass through stages cost bytes forward only, for every boundary and micro-batch. The first
#   step is no sample of a step's traffic.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
from collections import Counter

import torch
from ranks import Collectives, run
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

MICRO_BATCHES = 2


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, values, positions=None):
        return self.linear(values), torch.arange(len(values)) if positions is None else positions


def check(rank):
    stage = PipelineStage(Block(), rank, 2, torch.device("cpu"))
    schedule = Schedule1F1B(stage, MICRO_BATCHES, loss_fn=lambda output, _: output[0].sum())
    steps = []
    for _ in range(2):
        with Collectives() as seen:
            if rank == 0:
                schedule.step(torch.randn(8, 8))
            else:
                schedule.step(target=torch.zeros(8, 8))
        steps.append(Counter(name for name, _ in seen.calls))
    if rank == 0:
        print("first step of stage 0:", dict(steps[0]))
        print("second step of stage 0:", seen.calls)
        assert steps[1] == {"send": 2 * MICRO_BATCHES, "recv": MICRO_BATCHES}
        assert steps[0] - steps[1] == {"send": 3, "recv": 2, "allreduce": 2}
        assert sorted(seen.calls) == [("recv", 32)] * 2 + [("send", 4)] * 2 + [("send", 32)] * 2


if __name__ == "__main__":
    run(check, 2)
PYTHON
"$python" "$work/check.py"
