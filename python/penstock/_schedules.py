"""Pipeline schedules on their own."""

from __future__ import annotations

import os

from . import _core


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
    """A pipeline schedule, timed on equal stages, as `penstock schedule` does.

    name: a family of `penstock schedules`, or a schedule file (.csv), which has its own ranks and chunks (stages per
    rank; 0: what the family usually has). Times are of a full stage: unit steps as 1.5, or with a unit as "18ms"; ""
    as the time before it. memory_limit: full-stage activations that a rank may hold. lower: to what a runtime
    executes.

    Raises BadInput for what does not go together, InvalidPlan for a file that breaks rules, Infeasible where a rank
    holds more than the limit.
    """
    request = _core.ScheduleRequest()
    request.set_ranks(ranks)
    request.set_micro_batches(micro_batches)
    request.set_chunks(chunks)
    request.set_group(group)
    if memory_limit is not None:
        request.set_memory_limit(memory_limit)
    request.forward, request.backward_input, request.backward_weight = str(forward), str(backward_input), str(backward_weight)
    request.recompute, request.step, request.latency = str(recompute), str(step), str(latency)
    request.lower = lower
    return _core.schedule(os.fspath(name), request)
