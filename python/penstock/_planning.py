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
    runnable_by: str | None = None,
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
    """Searches a plan and simulates it, as `penstock plan` does. The plan's `simulation` has the result.

    Args:
        problem: The problem.
        planner: A name of `penstock planners` or of penstock.planner(). Options may follow it after colons.
        options: The planner's own options.
        micro_batch: Samples that a replica takes at a time. None: powers of two are tried.
        pipeline_micro_batch: Samples that flow through all stages at a time. None: powers of two are tried.
        per_stage_micro_batch: Stages may have different micro-batches.
        k: k of the kFkB schedule.
        any_degree: Replica counts may have any size.
        top: Number of plans to keep: the best, and the fastest plans of other kinds (degrees, schedule, ZeRO stage, recomputation)
            that take at most 1.5 times as long. They are `simulation.next_best`.
        runnable_by: Training framework that must be able to run the plan, as `--for` of the command line. "any": any plan. None:
            "megatron" for language models by released name or config that it can train, else "any".
        choose_by_estimate: A closed formula chooses micro-batch sizes, not the simulator.
        aim: Objective to minimise: `time` of an iteration, `p95`, `memory` or `cost`. The result is `simulation.reached`.
        perturbation: For p95: a perturbation file. p95 is the time that 95 % of the iterations under it do not exceed.
        seed: For p95: the first seed.
        seeds: For p95: the number of seeds.
        slower: For memory: plans may be this many percent slower than the fastest plan. None: 10. Only `joint` has this aim, which
            minimises the memory of the fullest device.
        network: `fair` or `fifo`.
        collective: `closed_form`, `automatic`, `ring`, `tree`, `double_tree`, `halving_doubling`, `hierarchical` or
            `disjoint_rings`.
        pass_collectives: Collectives of tensor-parallel, context and expert groups, and of ZeRO within a pass: `closed_form`, or
            `links`, which they then share with everything else.
        time_limit: Seconds after which the best plan so far is returned.
        memory_limit: Bytes of growth after which the best plan so far is returned.
        progress: True for a bar of tqdm where that is installed, or a function of the seconds so far.

    The aim `cost` minimises dollars per sample. Devices may then stay unused; the plan's problem has only those that it uses.

    After a limit, `complete` is False and the row's status has the reason. So it is after Ctrl-C, with the warning
    SearchInterrupted. A second Ctrl-C ends the search.

    Raises:
        BadInput: An argument or a file is malformed.
        Infeasible: No plan fits.
        Limit: A limit was hit before there was a plan.
        KeyboardInterrupt: Ctrl-C before there was a plan.
    """
    flags = _flags(
        dict(
            micro_batch=micro_batch,
            pipeline_micro_batch=pipeline_micro_batch,
            per_stage_micro_batch=per_stage_micro_batch,
            k=k,
            any_degree=any_degree,
            top=top,
            runnable_by=runnable_by,
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
    runnable_by: str | None = None,
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
    """Finds a plan near this one that is never slower in simulation, as `penstock improve` does.

    Args:
        plan: The plan to begin at.
        layers: Stages hold whole layers, as frameworks cut.
        change: `all`, or `cuts`: only where stages begin and end.
        evaluations: Budget: number of plans to evaluate.
        runnable_by: None: the framework that runs the plan's cluster, if it can run the plan and all is to change.
        slower: With aim="memory": percent above the time of this plan.

    plan() describes the other arguments.

    Raises:
        BadInput: An argument or a file is malformed.
        InvalidPlan: The plan breaks a rule.
        Limit: A limit was hit before there was a plan.
        KeyboardInterrupt: Ctrl-C before there was a plan.
    """
    flags = _flags(
        dict(
            runnable_by=runnable_by,
            network=network,
            collective=collective,
            pass_collectives=pass_collectives,
            time_limit_s=time_limit,
            memory_limit_bytes=memory_limit,
        )
    )
    if runnable_by is None and (layers or change != "all"):
        flags.runnable_by = "any"
    options = {"change": change, "evaluations": evaluations, **({"units": "layers"} if layers else {})}
    aimed = _aim(aim, perturbation, seed, seeds, slower)
    with _progress.of_search(progress, "improve") as beat:
        return _noted(_core.improve(plan, _written("joint", options), flags, aimed, beat))


def compare(
    problem: _core.Problem,
    planners: str | Iterable[str] = "all",
    *,
    micro_batch: int | None = None,
    runnable_by: str | None = None,
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
    """Compares planners on one problem, as `penstock compare` does: equal costs, one simulator, the fastest plan first.

    With another `aim`, the plan with the smallest value is first; the result's `reached` has the values. Only `joint` searches for
    memory. For other planners, the memory of their fastest plan counts.

    Args:
        problem: The problem.
        planners: "all", or names; a planner's options follow its name after colons.
        progress: True for a bar of tqdm where that is installed, or a function of a finished row, the number of finished rows, and
            the number of all rows.
        time_limit: Seconds of each search.
        memory_limit: Bytes of growth of each search.

    A planner that finds nothing has the reason as its row's status. plan() describes the other arguments.

    Raises:
        BadInput: An argument or a file is malformed.
        KeyboardInterrupt: Ctrl-C.
    """
    flags = _flags(
        dict(
            micro_batch=micro_batch,
            runnable_by=runnable_by,
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
    communication: str = "free",
    verify: bool = False,
    explain: bool = False,
    traffic: bool = False,
    what_if: str | None = None,
) -> _core.Simulation:
    """Checks a plan and simulates one iteration, as `penstock simulate` does.

    Args:
        plan: The plan.
        schedule: Another order for the plan's stages: a family of `penstock schedules`, or a schedule file.
        verify: Check the trace by separate rules.
        communication: When messages between stages travel: `free` (as soon as they can), or `in_order` (each device sends and
            receives one by one, in the order in which PyTorch's pipeline runtime posts them).
        explain: The text and the JSON also show where the time goes.
        traffic: Count what every rank sends; the result's `traffic` has it.
        what_if: Changes such as "network=200Gb/s, devices=2x". Each is simulated by itself, and all together; the result's `what_if`
            has them.

    plan() describes `network`, `collective` and `pass_collectives`.

    Raises:
        InvalidPlan: The plan breaks rules; the message lists every violation.
        BadInput: An argument or a file is malformed.
        KeyboardInterrupt: Ctrl-C.
    """
    found = _core.simulate(plan, schedule, network, collective, pass_collectives, communication, verify, explain, traffic, what_if)
    doubted([found.row])
    return found


def explain(plan: _core.Plan) -> dict[str, str]:
    """Explains a plan in ten sentences, as `penstock explain` does. Simulates the plan and a few changes of it.

    Returns:
        Sentences by subject, in this order: stages, replicas, batch, speed, losses, path, memory, bound, changes, frameworks.

    Raises:
        InvalidPlan: The plan breaks rules; the message lists every violation.
        KeyboardInterrupt: Ctrl-C.
    """
    return dict(_core.sentences(plan))


def validate(plan: _core.Plan) -> tuple[str, ...]:
    """Returns the violations of a plan in words, memory included. The list is empty for a valid plan."""
    return tuple(_core.violations(plan))


def export(
    plan: _core.Plan,
    to: str,
    *,
    csv: str | os.PathLike[str] | None = None,
    nearest: bool = False,
    version: str = "",
) -> _core.Handover:
    """Writes a plan in the words of a framework, as `penstock export` does.

    Args:
        plan: The plan.
        to: `megatron`, `torchtitan`, `deepspeed`, `automodel`, `pytorch` or `accelerate`.
        csv: Name of the file that will hold the order of passes. The result's `order_csv` is then its text.
        nearest: If the framework cannot run the plan, export the nearest plan that it can run.
        version: Release of the framework to write for. Empty: its current one (torchtitan also has "0.2").

    Raises:
        InvalidPlan: The framework cannot run the plan; the message lists the reasons.
        BadInput: An argument is malformed.
    """
    return _core.handover(plan, to, None if csv is None else os.fspath(csv), nearest, version)
