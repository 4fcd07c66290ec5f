"""From a module to a measured iteration, by files only: read, profiled, planned, simulated, run by torch."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", minversion="2.15")
pytest.importorskip("yaml")
from torch import nn  # noqa: E402

import ranks  # noqa: E402
from penstock.torch import build, from_torch, profile  # noqa: E402

SAMPLES, MICRO_BATCH = 16, 4


def problem():
    torch.manual_seed(3)
    layers = [layer for _ in range(4) for layer in (nn.Linear(256, 256), nn.ReLU())]
    return nn.Sequential(*layers), torch.randn(SAMPLES, 256), torch.randn(SAMPLES, 256)


def run(plan):
    module, inputs, target = problem()
    pipeline = build(plan, module, inputs, loss=nn.functional.mse_loss)
    steps = [pipeline.step(inputs, target) for _ in range(3)]
    return min(step.seconds for step in steps), steps[0].loss


def test_a_plan_of_penstock_runs_beside_its_simulation(penstock, tmp_path):
    """Losses agree to fp32's rounding. Times are only held to a factor of 100: processes of a test share cores, and a
    message by gloo between them takes longer than these layers."""
    module, inputs, target = problem()
    model = from_torch(module, inputs[:MICRO_BATCH]).write(tmp_path / "model.json")
    costs = profile(module, [inputs[:n] for n in (2, MICRO_BATCH)], device_name="h100").write(tmp_path / "costs.yaml")
    plan = tmp_path / "plan.yaml"
    penstock("plan", "--model", model, "--cluster", "8xH100", "--devices", 2, "--mini-batch", SAMPLES,
             "--micro-batch", MICRO_BATCH, "--costs", costs, "--planner", "gpipe_equal", "-o", plan)  # fmt: skip
    simulated = json.loads(penstock("simulate", plan, "--costs", costs, "--schedule", "1f1b", "--json"))["iteration_s"]
    (seconds, loss), (same, _) = ranks.run(2, run, str(plan))
    assert loss == pytest.approx(nn.functional.mse_loss(module(inputs), target).item(), rel=1e-5)
    assert seconds == same and 0.01 < seconds / simulated < 100
