"""A plan file (docs/formats/plan.md), as far as a pipeline of torch needs it, and what of it torch cannot run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


class CannotRun(ValueError):
    """A plan that torch.distributed.pipelining cannot run; every reason is one line of the message."""

    def __init__(self, plan: str, reasons: list[str]):
        super().__init__(f"{plan}: torch.distributed.pipelining cannot run this plan\n  " + "\n  ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True)
class Plan:
    """Stages in a row, all with as many replicas and one size of micro-batch."""

    name: str  #: of its file, for messages
    mini_batch: int  #: samples of an iteration
    micro_batch: int  #: samples, of all replicas together
    schedule: str  #: a family, or the path of a schedule file
    operators: tuple[tuple[str, ...], ...]  #: names, by stage
    ranks_of: tuple[tuple[int, ...], ...]  #: by stage and replica: devices renumbered in their order
    after: tuple[tuple[int, ...], ...]  #: by stage: those that the plan puts before it although no data requires it

    @property
    def micro_batches(self) -> int:
        return self.mini_batch // self.micro_batch

    @property
    def replicas(self) -> int:
        return len(self.ranks_of[0])

    @property
    def share(self) -> int:
        """Samples of a micro-batch that a replica takes."""
        return self.micro_batch // self.replicas

    @property
    def world(self) -> int:
        """Processes in all."""
        return len({rank for ranks in self.ranks_of for rank in ranks})

    def pipeline(self, replica: int) -> list[int]:
        """Ranks of one replica of all stages, in order."""
        return sorted({ranks[replica] for ranks in self.ranks_of})


def read_plan(plan: str | Path | Mapping[str, Any]) -> Plan:
    """Reads a plan file, or takes its content as a mapping.

    Raises ValueError for what is no plan, and CannotRun with every reason for a plan that torch cannot run.
    """
    name, folder = (str(plan), Path(plan).parent) if isinstance(plan, (str, Path)) else ("plan", Path())
    content = yaml.safe_load(Path(plan).read_text(encoding="utf-8")) if isinstance(plan, (str, Path)) else plan
    if not isinstance(content, Mapping) or content.get("penstock_plan") != 1:
        raise ValueError(f"{name}: not a plan file: expected penstock_plan: 1")
    try:
        stages, training = content["stages"], content["training"]
        mini_batch = int(training["mini_batch"])
        reasons = list(_reasons(stages, training, mini_batch))
        operators = tuple(tuple(stage["operators"]) for stage in stages)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{name}: not a plan file: {error} is missing or misplaced") from error
    if reasons:
        raise CannotRun(name, reasons)
    numbers = {x: rank for rank, x in enumerate(sorted({x for stage in stages for x in stage["devices"]}))}
    ranks_of = tuple(tuple(numbers[x] for x in stage["devices"]) for stage in stages)
    after = tuple(tuple(stage.get("after") or ()) for stage in stages)
    schedule = str(content.get("schedule", "1f1b"))
    if schedule.endswith(".csv"):
        schedule = str(folder / schedule)
    return Plan(name, mini_batch, stages[0]["micro_batch"], schedule, operators, ranks_of, after)


# Settings of a stage that change what is computed or kept, and the values that change nothing.
_NEUTRAL = {
    "recompute": (None, False, "none", "false"),
    "tensor_parallel": (None, 1),
    "sequence_parallel": (None, False),
    "zero": (None, 0),
}
_WHY = {
    "recompute": "recomputes its activations",
    "tensor_parallel": "divides its operators over devices",
    "sequence_parallel": "divides its operators by tokens",
    "zero": "divides its state over replicas",
}


def _reasons(stages: list[Mapping[str, Any]], training: Mapping[str, Any], mini_batch: int) -> Iterator[str]:
    sizes = {stage["micro_batch"] for stage in stages}
    if len(sizes) > 1:
        listed = ", ".join(map(str, sorted(sizes)))
        yield f"stages have micro-batches of {listed} samples: a schedule of torch has one size"
    elif mini_batch % min(sizes):
        yield f"{mini_batch} samples are no whole number of micro-batches of {min(sizes)}"
    degrees = {len(stage["devices"]) for stage in stages}
    if len(degrees) > 1:
        yield f"stages are on {', '.join(map(str, sorted(degrees)))} devices: torch has one number of replicas"
    elif min(sizes) % min(degrees):
        yield f"{min(degrees)} replicas cannot share {min(sizes)} samples evenly"
    for i, stage in enumerate(stages):
        for key, neutral in _NEUTRAL.items():
            if stage.get(key) not in neutral:
                yield f"stage {i} {_WHY[key]} ({key}: {stage[key]})"
    precision = training.get("precision", "fp32")
    if precision not in ("fp32", "bf16"):
        yield f"precision {precision}: parameters, gradients and state are in the module's own numbers here"
    if any(factor != 1 for factor in (training.get("compression") or {}).values()):
        yield "compression of gradients or activations"
