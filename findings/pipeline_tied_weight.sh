#!/usr/bin/env bash
# question: torch.distributed.pipelining.pipeline() cuts a model whose first and last stage share a weight. Where is it then?
# guess: On the first stage, which sends it to the last one as if it were an activation.
# saw: Each of the two stages has the weight, and the first one holds a second copy that nothing reads. No transfer connects
#   them, neither of weights nor of gradients: the two gradients differ, and their sum is the gradient of the whole model.
# matters: Memory counts a tied weight on both stages, twice on the first. Training is wrong until the user adds an all-reduce of
#   its gradient between the two ranks. A predicted time needs that all-reduce; a trace of torch's own schedule lacks it.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import torch
import torch.distributed as dist
from ranks import Collectives, run
from torch.distributed.pipelining import ScheduleGPipe, SplitPoint, pipeline


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8, bias=False)
        self.middle = torch.nn.Linear(8, 8, bias=False)
        self.last = torch.nn.Linear(8, 8, bias=False)
        self.last.weight = self.first.weight

    def forward(self, values):
        return self.last(self.middle(self.first(values)))


def check(rank):
    torch.manual_seed(0)
    model, values = Tied(), torch.randn(4, 8)
    model(values).sum().backward()
    whole = model.first.weight.grad.clone()
    model.zero_grad()

    cut = pipeline(model, (values[:2],), split_spec={"middle": SplitPoint.BEGINNING})
    stage = cut.build_stage(rank, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, 2, loss_fn=lambda output, _: output.sum(), scale_grads=False)
    arguments = {"target": torch.zeros(4, 8)} if rank else {}
    for _ in range(2):  # the first step also exchanges shapes
        stage.submod.zero_grad()
        with Collectives() as seen:
            schedule.step(*([] if rank else [values]), **arguments)
    assert {name for name, _ in seen.calls} == {"send", "recv"}
    assert {count for _, count in seen.calls} == {16}  # activations and gradients [2, 8] of a micro-batch
    parameters = dict(stage.submod.named_parameters())
    own = parameters["last.weight" if rank else "first.weight"]
    if rank == 0:
        spare = parameters["last.weight"]
        assert spare.grad is None and spare.data_ptr() != own.data_ptr()
    print(f"rank {rank}: {list(stage.submod.state_dict())}, second step: {seen.calls}", flush=True)
    gradients = [torch.empty_like(own) for _ in range(2)]
    dist.all_gather(gradients, own.grad)
    assert not torch.allclose(gradients[0], gradients[1])
    assert torch.allclose(gradients[0] + gradients[1], whole, atol=1e-5)


if __name__ == "__main__":
    run(check, 2)
PYTHON
"$python" "$work/check.py"
