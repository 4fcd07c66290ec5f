"""Answers that cannot be right come with a warning."""

from __future__ import annotations

import json
import warnings

import penstock as ps
import pytest

OPERATORS = [
    {"name": "x", "kind": "input", "inputs": [], "output_bytes": 4096},
    {"name": "a", "kind": "profiled", "inputs": ["x"], "forward_flops": 1e9, "input_gradient_flops": 1e9,
     "weight_gradient_flops": 1e9, "parameters": 1000, "output_bytes": 4096, "kept_bytes": 4096},
]


@pytest.fixture
def problem(tmp_path):
    """With a profile in which 3 GFLOP take the time given: 0.19 ms at the 15.7 TFLOP/s of a V100."""
    (tmp_path / "m.json").write_text(json.dumps(
        {"penstock": "model", "version": 2, "name": "m", "element_bytes": 4, "operators": OPERATORS}))

    def with_time(time):
        costs = tmp_path / "costs.yaml"
        costs.write_text(f"penstock_profile: 1\ndevice: V100\noperators: {{a: {{total: {{1: {time}}}}}}}\n")
        return ps.Problem(ps.load(tmp_path / "m.json"), ps.Cluster("summit", 1), 4, costs=str(costs))

    return with_time


def test_an_mfu_above_the_whole_is_warned_of(problem):
    with pytest.warns(ps.ImplausibleAnswer, match="no device computes faster than its peak"):
        plan = ps.plan(problem("3us"), "spp")
    assert plan.simulation.row.mfu > 1 and "profile of V100" in plan.simulation.row.doubts[0]
    with pytest.warns(ps.ImplausibleAnswer):
        ps.simulate(plan)
    with pytest.warns(ps.ImplausibleAnswer):
        ps.compare(problem("3us"), ["spp", "data_parallel"])


def test_a_true_answer_is_not(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = ps.plan(problem("1ms"), "spp")
        ps.simulate(plan)
    assert plan.simulation.row.doubts == []
