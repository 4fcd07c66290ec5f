"""Plans: searched, compared, simulated, checked, handed over."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping

from . import _core, _planners, _progress
from ._inputs import _text
from .errors import Error, SearchInterrupted, doubted


def _written(planner: str, options: Mapping[str, object]) -> str:
    """A planner with its own options, as in "piper:flush=true"."""
    if not isinstance(options, Mapping):
        raise TypeError(f"options: expected a mapping of names to values, found {options!r}")
    return ":".join([planner, *(f"{key}={_text(value)}" for key, value in options.items())])


def _flags(values: dict[str, object]) -> _core.SearchFlags:
    flags = _core.SearchFlags()
    for key, value in values.items():
        setattr(flags, key, value)
    return flags


def _aim(
    name: str, perturbation: str | os.PathLike[str] | None, seed: int, seeds: int, slower: float | None
) -> _core.Aim:
    aim = _core.Aim()
    aim.name, aim.seed, aim.seeds, aim.slower = name, seed, seeds, slower
    aim.perturbation = None if perturbation is None else os.fspath(perturbation)
    return aim


def _noted(plan: _core.Plan) -> _core.Plan:
    """Warns where Ctrl-C ended the search."""
    if plan.simulation and plan.simulation.row.status.startswith("interrupted"):
        warnings.warn("interrupted: the best plan found until then", SearchInterrupted, stacklevel=3)
    if plan.simulation:
        doubted([plan.simulation.row], stacklevel=4)
    return plan


def plan(
    problem: _core.Problem,
    planner: str = "joint",
    *,
    options: Mapping[str, object] | None = None,
    micro_batch: int | None = None,
    pipeline_micro_batch: int | None = None,
    per_stage_micro_batch: bool = False,
    k: int = 1,
    any_degree: bool = False,
    top: int = 1,
    choose_by_estimate: bool = False,
    aim: str = "time",
    perturbation: str | os.PathLike[str] | None = None,
    seed: int = 0,
    seeds: int = 20,
    slower: float | None = None,
    network: str = "fair",
    collective: str = "closed_form",
    pass_collectives: str = "closed_form",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    progress: bool | Callable[[float], object] = False,
) -> _core.Plan:
    """Searches a plan and simulates it, as `penstock plan` does; the simulation is the plan's `simulation`.

    planner: a name of `penstock planners`, with its own options as `options` or behind colons, or one of penstock.planner(). micro_batch: samples
    that a replica takes at a time; pipeline_micro_batch: those that flow through all stages at a time; None: powers
    of two are tried. k: of the kFkB schedule. any_degree: replica counts of any size. top: beside the best
    plan, the fastest of other kinds (degrees, schedule, ZeRO stage, recomputation), so many in all, at most 1.5 times as
    slow: `simulation.next_best`. choose_by_estimate: a closed
    formula picks micro-batch sizes, not the simulator. aim: what is made least: time of an iteration; p95, the time
    that 95 % of iterations under a `perturbation` file do not exceed, over `seeds` seeds from `seed` on; memory of
    the fullest device, among plans at most `slower` percent (None: 10) slower than the fastest, by joint alone; cost,
    dollars per sample, where devices may stay unused: the plan's problem has those that it uses. What it came to is
    `simulation.reached`. network: fair or fifo; collective: closed_form, or automatic,
    ring, tree, double_tree, halving_doubling or hierarchical; pass_collectives, of tensor-parallel, context and
    expert groups and of ZeRO within a pass: closed_form, or links, which they then share with all else. time_limit: seconds, memory_limit: bytes of growth, after which the
    best plan so far is returned, `complete` False and its row's status the reason. So is it at Ctrl-C, with a warning,
    SearchInterrupted; a second Ctrl-C ends the search. progress: True for a bar of tqdm where that is
    installed, or a function of the seconds gone by.

    Raises BadInput, Infeasible when no plan fits, Limit when a limit is hit before there is one, KeyboardInterrupt
    at Ctrl-C before there is one.
    """
    flags = _flags(
        dict(
            micro_batch=micro_batch,
            pipeline_micro_batch=pipeline_micro_batch,
            per_stage_micro_batch=per_stage_micro_batch,
            k=k,
            any_degree=any_degree,
            top=top,
            by_estimate=choose_by_estimate,
            network=network,
            collective=collective,
            pass_collectives=pass_collectives,
            time_limit_s=time_limit,
            memory_limit_bytes=memory_limit,
        )
    )
    aimed = _aim(aim, perturbation, seed, seeds, slower)
    with _progress.of_search(progress, planner) as beat:
        try:
            return _noted(_core.search(problem, _written(planner, options or {}), flags, aimed, beat))
        except Error as error:
            raise error from _planners.cause(planner)


def improve(
    plan: _core.Plan,
    *,
    layers: bool = False,
    change: str = "all",
    evaluations: int = 6000,
    aim: str = "time",
    perturbation: str | os.PathLike[str] | None = None,
    seed: int = 0,
    seeds: int = 20,
    slower: float | None = None,
    network: str = "fair",
    collective: str = "closed_form",
    pass_collectives: str = "closed_form",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    progress: bool | Callable[[float], object] = False,
) -> _core.Plan:
    """A plan near this one, never slower in simulation, as `penstock improve` finds it.

    layers: stages hold whole layers, as frameworks cut. change: all, or cuts, where stages begin and end.
    evaluations: most plans judged. The others: as plan(); with aim="memory" `slower` is above this plan.

    Raises BadInput, InvalidPlan, Limit, KeyboardInterrupt.
    """
    flags = _flags(
        dict(
            network=network,
            collective=collective,
            pass_collectives=pass_collectives,
            time_limit_s=time_limit,
            memory_limit_bytes=memory_limit,
        )
    )
    options = {"change": change, "evaluations": evaluations, **({"units": "layers"} if layers else {})}
    aimed = _aim(aim, perturbation, seed, seeds, slower)
    with _progress.of_search(progress, "improve") as beat:
        return _noted(_core.improve(plan, _written("joint", options), flags, aimed, beat))


def compare(
    problem: _core.Problem,
    planners: str | Iterable[str] = "all",
    *,
    micro_batch: int | None = None,
    choose_by_estimate: bool = False,
    aim: str = "time",
    perturbation: str | os.PathLike[str] | None = None,
    seed: int = 0,
    seeds: int = 20,
    slower: float | None = None,
    network: str = "fair",
    collective: str = "closed_form",
    pass_collectives: str = "closed_form",
    time_limit: float | None = None,
    memory_limit: int | None = 4 << 30,
    progress: bool | Callable[[_core.Row, int, int], object] = False,
) -> _core.Comparison:
    """Sets planners on one problem, as `penstock compare` does: same costs, same simulator, the fastest plan first, or
    the one of least `aim`, whose values are the result's `reached`. Planners but joint do not search for memory: that of
    their fastest plan counts.

    planners: "all", or names, a planner's options behind colons. Each search has time_limit seconds and memory_limit
    bytes; a planner that finds nothing has its reason as the row's status. The others: as plan(). progress: True for
    a bar of tqdm where that is installed, or a function of a finished row, how many are done, and of how many.

    Raises BadInput, KeyboardInterrupt.
    """
    flags = _flags(
        dict(
            micro_batch=micro_batch,
            by_estimate=choose_by_estimate,
            network=network,
            collective=collective,
            pass_collectives=pass_collectives,
            time_limit_s=time_limit,
            memory_limit_bytes=memory_limit,
        )
    )
    names = planners if isinstance(planners, str) else ",".join(planners)
    aimed = _aim(aim, perturbation, seed, seeds, slower)
    with _progress.of_rows(progress, "planner") as told:
        found = _core.compare(problem, names, flags, aimed, told)
    doubted(found.rows)
    return found


def simulate(
    plan: _core.Plan,
    *,
    schedule: str | None = None,
    network: str = "fair",
    collective: str = "closed_form",
    pass_collectives: str = "closed_form",
    verify: bool = False,
    explain: bool = False,
    what_if: str | None = None,
) -> _core.Simulation:
    """Checks a plan and simulates one iteration, as `penstock simulate` does.

    schedule: another order for the same stages: a family of `penstock schedules`, or a schedule file. network,
    collective, pass_collectives: as plan(). verify: the trace is checked by rules of its own. explain: the text and the JSON say where
    the time goes. what_if: changes such as "network=200Gb/s, devices=2x", each simulated alone and all together, beside
    today: `what_if` of the result.

    Raises InvalidPlan with every violation, BadInput, KeyboardInterrupt.
    """
    found = _core.simulate(plan, schedule, network, collective, pass_collectives, verify, explain, what_if)
    doubted([found.row])
    return found


def validate(plan: _core.Plan) -> tuple[str, ...]:
    """What is wrong with a plan, each violation in words, memory's too; empty: nothing."""
    return tuple(_core.violations(plan))


def export(
    plan: _core.Plan, to: str, *, csv: str | os.PathLike[str] | None = None, nearest: bool = False
) -> _core.Handover:
    """A plan in the words of megatron, torchtitan, deepspeed, automodel or pytorch, as `penstock export` writes it.

    csv: name of the file that will hold the order of passes, whose text is then the result's `order_csv`. nearest:
    where the framework cannot run the plan, hand over the nearest one that it can.

    Raises InvalidPlan with the reasons where the framework cannot run the plan, BadInput.
    """
    return _core.handover(plan, to, None if csv is None else os.fspath(csv), nearest)
