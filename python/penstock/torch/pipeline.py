"""A plan run by torch.distributed.pipelining: one process per rank, stages cut by the plan, its order of passes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, schedules
from torch.utils import _pytree as pytree

from .capture import Capture, Examples, capture, samples_of, split
from .cut import Cutter, Part
from .groups import gather
from .pass_names import name_passes
from .plan_file import CannotRun, Plan, read_plan
from .tensors import parameter_names

Loss = Callable[[Any, Any], torch.Tensor]
_SINGLE = {"1f1b": schedules.Schedule1F1B, "gpipe": schedules.ScheduleGPipe}


@dataclass(frozen=True)
class Step:
    """One iteration, as every rank hears of it."""

    loss: float  #: mean over micro-batches
    seconds: float  #: from a barrier to the end of the slowest rank


def build(
    plan: str | Path | Mapping[str, Any],
    module: torch.nn.Module,
    example_inputs: Examples,
    *,
    loss: Loss,
    schedule_csv: str | Path | None = None,
    device: str | torch.device = "cpu",
) -> Pipeline:
    """Cuts a module by a plan and makes this process one rank of its pipeline.

    `example_inputs`: at least a micro-batch of samples, as for from_torch, whose operators' names the plan has.
    `loss(output, target)`: of one micro-batch, its mean over samples. `schedule_csv`: the order of passes, as
    `penstock schedule --csv` writes it; left out, the plan's own schedule. Every process of the default group, which
    has as many as the plan has devices, calls this with equal arguments and equal parameters.
    Raises CannotRun with every reason where torch cannot run the plan, ValueError where module and plan differ.
    """
    read = read_plan(plan)
    if not dist.is_initialized() or dist.get_world_size() != read.world:
        found = f"{dist.get_world_size()} processes" if dist.is_initialized() else "no process group"
        raise ValueError(f"{read.name} runs on {read.world} processes (torchrun --nproc-per-node), found {found}")
    captured = capture(module, _first_samples(example_inputs, read.share))
    parts = Cutter(captured, gather(captured), read).parts()
    return Pipeline(read, captured, parts, loss, str(schedule_csv or read.schedule), torch.device(device))


def _first_samples(examples: Examples, samples: int) -> Examples:
    args, kwargs = split(examples)
    total = samples_of(examples)
    if total < samples:
        raise ValueError(f"the example inputs have {total} samples, a replica's micro-batch has {samples}")

    def cut(x: torch.Tensor) -> torch.Tensor:
        return x[:samples].clone() if x.shape[:1] == (total,) else x

    return {key: cut(x) for key, x in kwargs.items()} if kwargs else tuple(cut(x) for x in args)


class Pipeline:
    """One rank's stages and their schedule. Gradients are those of the mean loss of all micro-batches.

    Gradients of a parameter that several ranks hold, be it tied or of replicas, are added up at an iteration's end.
    """

    def __init__(self, plan: Plan, captured: Capture, parts: list[Part], loss: Loss, order: str, device: torch.device):
        self.plan, self._captured, self._parts, self._device = plan, captured, parts, device
        self._names = parameter_names(captured.module)
        rank = dist.get_rank()
        self._here = [i for i, ranks in enumerate(plan.ranks_of) if rank in ranks]
        self._replica = plan.ranks_of[self._here[0]].index(rank)
        group = self._groups([plan.pipeline(replica) for replica in range(plan.replicas)])[self._replica]
        stages = [
            name_passes(PipelineStage(parts[i].module.to(device), i, len(parts), device, group=group))
            for i in self._here
        ]
        shares = plan.micro_batches * plan.replicas

        def divided(output: Any, target: Any) -> torch.Tensor:
            leaves = output if isinstance(output, (tuple, list)) else (output,)
            return loss(pytree.tree_unflatten(leaves, captured.output), target) / shares

        places = plan.pipeline(self._replica)
        self._schedule = _schedule(
            plan, [places.index(r[self._replica]) for r in plan.ranks_of], order, stages, divided
        )
        holders = self._holders()
        self._shared = dict(zip(holders, self._groups(list(holders.values()))))

    def named_parameters(self) -> dict[str, torch.nn.Parameter]:
        """Parameters of this rank's stages, by their names in the module; for an optimizer and for comparison."""
        return {self._names[id(p)][0]: p for i in self._here for p in self._parts[i].module.parameters()}

    def step(self, inputs: Examples, target: torch.Tensor) -> Step:
        """One iteration on a mini-batch, which every rank is given whole; gradients add up in `.grad`."""
        batches = {name: self._micro_batches(x) for name, x in self._captured.named(inputs).items()}
        losses: list[torch.Tensor] = []
        dist.barrier()
        start = time.perf_counter()
        self._schedule.step(**self._arguments(batches), target_mbs=self._micro_batches(target), losses=losses)
        self._add_up_shared()
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return self._told(losses, time.perf_counter() - start)

    def _micro_batches(self, x: torch.Tensor) -> list[torch.Tensor]:
        """This replica's. Tensors without samples, as positions may be, go to every micro-batch."""
        if x.dim() == 0 or x.shape[0] != self.plan.mini_batch:
            return [x.to(self._device)] * self.plan.micro_batches
        pieces = x.to(self._device).split(self.plan.share)
        return list(pieces[self._replica :: self.plan.replicas])

    def _arguments(self, batches: dict[str, list[torch.Tensor]]) -> dict[str, Any]:
        """Inputs go by name to all stages of this rank; each takes those that it reads."""
        wanted = {name for i in self._here for name in self._parts[i].module.inputs}
        count = range(self.plan.micro_batches)
        return {"arg_mbs": [()] * len(count), "kwarg_mbs": [{name: batches[name][i] for name in wanted} for i in count]}

    def _told(self, losses: list[torch.Tensor], seconds: float) -> Step:
        numbers = torch.tensor([sum(x.item() for x in losses)], dtype=torch.float64, device=self._device)
        slowest = torch.tensor([seconds], dtype=torch.float64, device=self._device)
        dist.all_reduce(numbers)  # ranks without the last stage add nothing
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        return Step(float(numbers[0]), float(slowest[0]))

    def _holders(self) -> dict[str, list[int]]:
        """Ranks of each parameter that more than one holds."""
        found: dict[str, set[int]] = {}
        for part, ranks in zip(self._parts, self.plan.ranks_of):
            for parameter in part.module.parameters():
                found.setdefault(self._names[id(parameter)][0], set()).update(ranks)
        return {name: sorted(found[name]) for name in sorted(found) if len(found[name]) > 1}

    def _groups(self, members: list[list[int]]) -> list[dist.ProcessGroup]:
        """Process groups, which all ranks make in one order; one for equal members."""
        made: dict[tuple[int, ...], dist.ProcessGroup] = {}
        for ranks in members:
            if tuple(ranks) not in made:
                made[tuple(ranks)] = dist.new_group(ranks)
        return [made[tuple(ranks)] for ranks in members]

    def _add_up_shared(self) -> None:
        mine = self.named_parameters()
        for name, group in self._shared.items():
            if name in mine:
                if mine[name].grad is None:
                    mine[name].grad = torch.zeros_like(mine[name])
                dist.all_reduce(mine[name].grad, group=group)


def _schedule(plan: Plan, places: list[int], order: str, stages: list[PipelineStage], loss: Loss) -> Any:
    """Schedule of torch by name for three families, else by the file; `places`: of every stage in its pipeline.

    The loss is divided already, hence no scale.
    """
    common = {"n_microbatches": plan.micro_batches, "loss_fn": loss, "scale_grads": False}
    ranks = len(set(places))
    if order.endswith(".csv"):
        made = schedules._PipelineScheduleRuntime(stages, **common)
        made._load_csv(order)
        _check_places(plan, places, order, made.stage_index_to_group_rank)
        return made
    if order in _SINGLE and places == list(range(ranks)):
        return _SINGLE[order](stages[0], **common)
    if order == "interleaved_1f1b" and places == [i % ranks for i in range(len(places))]:
        return schedules.ScheduleInterleaved1F1B(stages, **common)
    how = f"penstock schedule {order} --ranks {ranks} --microbatches {plan.micro_batches} --csv FILE"
    raise CannotRun(plan.name, [f"schedule {order} on these ranks has no name in torch; give schedule_csv ({how})"])


def _check_places(plan: Plan, places: list[int], order: str, rank_of: Mapping[int, int]) -> None:
    for stage, place in enumerate(places):
        if rank_of.get(stage) != place:
            raise CannotRun(
                plan.name, [f"{order} runs stage {stage} on rank {rank_of.get(stage)}, the plan on {place}"]
            )
