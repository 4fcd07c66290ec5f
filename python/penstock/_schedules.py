"""Pipeline schedules on their own."""

from __future__ import annotations

import os
from collections.abc import Iterable

from . import _core
from .errors import BadInput


def schedule(
    name: str | os.PathLike[str],
    ranks: int = 0,
    micro_batches: int = 0,
    *,
    chunks: int = 0,
    group: int = 0,
    forward: float | str = "",
    backward_input: float | str = "",
    backward_weight: float | str = "",
    recompute: float | str = "",
    step: float | str = "",
    latency: float | str = "",
    memory_limit: int | None = None,
    lower: bool = False,
) -> _core.Schedule:
    """Times a pipeline schedule on equal stages, as `penstock schedule` does.

    Args:
        name: A family of `penstock schedules`, or a schedule file (.csv), which has its own ranks and chunks.
        ranks: Number of ranks.
        micro_batches: Number of micro-batches.
        chunks: Stages per rank. 0: the family's usual number.
        group: Size of a round, for families that have one.
        memory_limit: Full-stage activations that a rank may hold.
        lower: Lower the schedule to the instructions that a runtime executes.

    Times are of a full stage: unit steps as 1.5, or with a unit as "18ms". An empty text means the time before it.

    Raises:
        BadInput: Arguments contradict each other.
        InvalidPlan: A file breaks rules.
        Infeasible: A rank holds more than the limit.
    """
    request = _request(forward, backward_input, backward_weight, recompute, step, latency, memory_limit, lower)
    request.set_ranks(ranks)
    request.set_micro_batches(micro_batches)
    request.set_chunks(chunks)
    request.set_group(group)
    return _core.schedule(os.fspath(name), request)


def from_lists(
    rows: Iterable[Iterable[str | None]],
    *,
    name: str = "lists",
    forward: float | str = "",
    backward_input: float | str = "",
    backward_weight: float | str = "",
    recompute: float | str = "",
    step: float | str = "",
    latency: float | str = "",
    memory_limit: int | None = None,
    lower: bool = False,
) -> _core.Schedule:
    """Schedule.from_lists."""
    listed = [[_cell(action, rank, place) for place, action in enumerate(row)] for rank, row in enumerate(rows)]
    if not listed or not any(listed[-1]):
        raise BadInput(f"rank {max(0, len(listed) - 1)}: expected at least one action")
    request = _request(forward, backward_input, backward_weight, recompute, step, latency, memory_limit, lower)
    request.text = "\n".join(",".join(row) for row in listed)
    try:
        return _core.schedule(name, request)
    except BadInput as error:
        if error.line is None:
            raise
        raise BadInput(str(error).replace(f"{name}:{error.line}: ", f"rank {error.line - 1}: ", 1)) from None


def _cell(action: str | None, rank: int, place: int) -> str:
    text = "" if action is None else action
    if not isinstance(text, str) or set(text) & set(",\n"):
        raise BadInput(f"rank {rank}: cell {place}: expected an action such as '0F0', or None, not {action!r}")
    return text


def _request(
    forward: float | str,
    backward_input: float | str,
    backward_weight: float | str,
    recompute: float | str,
    step: float | str,
    latency: float | str,
    memory_limit: int | None,
    lower: bool,
) -> _core.ScheduleRequest:
    request = _core.ScheduleRequest()
    if memory_limit is not None:
        request.set_memory_limit(memory_limit)
    request.forward, request.backward_input, request.backward_weight = str(forward), str(backward_input), str(backward_weight)
    request.recompute, request.step, request.latency = str(recompute), str(step), str(latency)
    request.lower = lower
    return request
