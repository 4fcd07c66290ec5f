"""Penstock plans, simulates and compares pipeline-parallel training of deep networks.

    import penstock as ps

    problem = ps.Problem(ps.zoo("mmt"), ps.Cluster("summit", 8), mini_batch=128, optimizer="adam")
    plan = ps.plan(problem)           # a notebook shows its stages and timeline
    print(plan.simulation)
    print(ps.compare(problem))

Values are immutable. Times are seconds, sizes bytes, rates per second. Errors are those of penstock.errors. Long
work releases the interpreter's lock and ends at Ctrl-C. penstock.torch, which needs PyTorch, is imported on its own.
"""

from ._core import Cluster, Comparison, Handover, Model, Plan, Problem, Row, Schedule, Simulation, Stage
from ._inputs import import_hf, load, zoo
from ._planning import compare, export, plan, simulate, validate
from ._results import report
from ._schedules import schedule
from .errors import BadInput, Error, Infeasible, Internal, InvalidPlan, Limit

__all__ = [
    "BadInput", "Cluster", "Comparison", "Error", "Handover", "Infeasible", "Internal", "InvalidPlan", "Limit",
    "Model", "Plan", "Problem", "Row", "Schedule", "Simulation", "Stage", "compare", "export", "import_hf", "load",
    "plan", "report", "schedule", "simulate", "validate", "zoo",
]
