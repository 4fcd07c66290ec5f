"""Times and saved activations measured operator by operator."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", minversion="2.15")
yaml = pytest.importorskip("yaml")
from torch import nn  # noqa: E402

from penstock.torch import from_torch, profile, profiling  # noqa: E402


def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


def test_every_operator_with_work_has_times_of_both_passes(tmp_path):
    measured = profile(convolutions(), [torch.randn(n, 3, 32, 32) for n in (2, 8)], repeats=3)
    file = yaml.safe_load(measured.write(tmp_path / "costs.yaml").read_text())
    timed = [op.name for op in measured.model.operators if op.kind not in ("input", "reshape")]
    assert list(file["operators"]) == timed and len(timed) == 7
    for entry in file["operators"].values():
        assert list(entry["forward"]) == list(entry["backward"]) == [2, 8]
        assert all(float(seconds[:-1]) > 0 for seconds in entry["forward"].values())


def test_operators_together_take_about_as_long_as_the_step():
    """Each by itself waits for its own launch, the whole step has the copies between. Another process may run beside: a fifth to
    five times, on convolutions that take milliseconds."""
    measured = profile(convolutions(), [torch.randn(16, 3, 64, 64)], repeats=5)
    assert 0.2 < measured.sum(16) / measured.whole[16] < 5


def test_saved_bytes_are_those_of_autograd():
    """With 4 samples, fc1 multiplies x (3 x 4 bytes each) and relu keeps its result (5 x 4), which fc2 multiplies too. The last
    layer's output is not kept, and fc1's is not either, as relu's result suffices."""
    module = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    model = profile(module, [torch.randn(4, 3)], repeats=1).model
    assert {op.name: op.kept_bytes for op in model.operators} == {"input_1": 12, "0": 0, "1": 20, "2": 0}


def test_measured_memory_is_that_of_the_rules():
    """With 4 samples the rules also keep the last layer's output, 10 x 4 bytes, which no gradient needs. Autograd also keeps the
    norm's mean and deviation of 32 channels, 2 x 32 x 4 bytes for all 4 samples."""
    module, image = convolutions(), torch.randn(4, 3, 32, 32)
    ruled = from_torch(module, image).total("kept_bytes")
    measured = profile(module, [image], repeats=1).model.total("kept_bytes")
    assert measured == ruled - 40 + 64


def test_statistics_are_as_before():
    module = convolutions()
    before = [buffer.clone() for buffer in module.buffers()]
    profile(module, [torch.randn(4, 3, 32, 32)], repeats=1)
    assert all(torch.equal(a, b) for a, b in zip(before, module.buffers()))
    assert all(p.grad is None for p in module.parameters())


def test_what_has_no_kind_has_times_too():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 4, batch_first=True)

        def forward(self, x):
            return torch.cumsum(self.lstm(x)[0], 1)

    measured = profile(Odd(), [torch.randn(2, 3, 4)], repeats=1)
    assert {"lstm", "cumsum"} <= set(measured.forward)
    assert measured.backward["lstm"][2] > 0


def test_penstock_plans_with_the_file(penstock, tmp_path):
    measured = profile(convolutions(), [torch.randn(n, 3, 32, 32) for n in (1, 4)], repeats=2, device_name="h100")
    model, costs = measured.model.write(tmp_path / "m.json"), measured.write(tmp_path / "costs.yaml")
    plan = tmp_path / "plan.yaml"
    problem = ("--model", model, "--cluster", "8xH100", "--devices", 2, "--mini-batch", 8, "--micro-batch", 4)
    penstock("plan", *problem, "--costs", costs, "--planner", "gpipe_equal", "-o", plan)
    assert [len(stage["devices"]) for stage in yaml.safe_load(plan.read_text())["stages"]] == [1, 1]
    assert "iteration" in penstock("simulate", plan, "--costs", costs).lower()


def test_medians_that_fall_are_pooled(monkeypatch):
    """Times are 14, 12, 10 and 20 us for 1, 2, 4 and 8 samples: the nearest curve that rises has 12 three times."""
    clock = {1: 14e-6, 2: 12e-6, 4: 10e-6, 8: 20e-6}

    def timed(runner, grouping, group, repeats):
        seconds = clock[next(iter(runner.alone(group)()[0])).shape[0]]
        return seconds, 2 * seconds

    monkeypatch.setattr(profiling, "_time_group", timed)
    measured = profile(nn.Sequential(nn.Linear(4, 4)), [torch.randn(n, 4) for n in clock], repeats=1)
    assert measured.forward["0"] == pytest.approx({1: 12e-6, 2: 12e-6, 4: 12e-6, 8: 20e-6})
    assert measured.backward["0"] == pytest.approx({1: 24e-6, 2: 24e-6, 4: 24e-6, 8: 40e-6})


def test_no_batch_is_refused():
    with pytest.raises(ValueError, match="no batch"):
        profile(convolutions(), [])
