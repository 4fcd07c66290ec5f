"""Penstock plans, simulates and compares pipeline-parallel training of deep networks.

    import penstock as ps

    problem = ps.Problem(ps.zoo("mmt"), ps.Cluster("summit", 8), mini_batch=128, optimizer="adam")
    plan = ps.plan(problem)           # a notebook shows its stages and timeline
    print(plan.simulation)
    print(ps.compare(problem))

Values are immutable. Times are seconds, sizes bytes, rates per second. Errors are those of penstock.errors. Long
work releases the interpreter's lock and ends at Ctrl-C; a search then returns its best plan so far. Import
penstock.torch separately; it needs PyTorch.
"""

import importlib

TYPE_CHECKING = False  # typing itself takes longer to import than all else here
if TYPE_CHECKING:
    from ._core import Cluster, Comparison, Handover, Model, Plan, Problem, Reached, Results, Row, Schedule, Simulation, Stage, StageCost
    from ._experiments import repeat, run
    from ._inputs import import_hf, load, zoo
    from ._planners import planner, stage_cost, stage_memory
    from ._planning import compare, explain, export, improve, plan, simulate, validate
    from ._results import chart, pareto, report
    from ._schedules import schedule
    from .errors import BadInput, Error, ImplausibleAnswer, Infeasible, Internal, InvalidPlan, Limit, SearchInterrupted

__all__ = [
    "BadInput", "Cluster", "Comparison", "Error", "Handover", "ImplausibleAnswer", "Infeasible", "Internal",
    "InvalidPlan", "Limit", "Model", "Plan", "Problem", "Reached", "Results", "Row", "Schedule", "SearchInterrupted",
    "Simulation", "Stage", "StageCost", "chart", "compare", "explain", "export", "import_hf", "improve", "load", "pareto", "plan",
    "planner", "repeat", "report",
    "run", "schedule", "simulate", "stage_cost", "stage_memory", "validate", "zoo",
]

# A name is loaded at its first use, so that penstock.torch, which reads and writes files, needs no compiled part.
_HOME = {
    **dict.fromkeys(["Cluster", "Comparison", "Handover", "Model", "Plan", "Problem", "Reached", "Results", "Row", "Schedule",
                     "Simulation", "Stage", "StageCost"], "_core"),
    **dict.fromkeys(["repeat", "run"], "_experiments"),
    **dict.fromkeys(["import_hf", "load", "zoo"], "_inputs"),
    **dict.fromkeys(["planner", "stage_cost", "stage_memory"], "_planners"),
    **dict.fromkeys(["compare", "explain", "export", "improve", "plan", "simulate", "validate"], "_planning"),
    **dict.fromkeys(["chart", "pareto", "report"], "_results"),
    "schedule": "_schedules",
    **dict.fromkeys(["BadInput", "Error", "ImplausibleAnswer", "Infeasible", "Internal", "InvalidPlan", "Limit", "SearchInterrupted"], "errors"),
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'penstock' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
