"""Runs that torch's profiler recorded, beside the simulation of their plans.

The oracle reads the recorded files by Python: a pass reaches from its first to its last operator.
"""

from __future__ import annotations

import csv
import gzip
import json
import re

import pytest

torch = pytest.importorskip("torch", minversion="2.15")
yaml = pytest.importorskip("yaml")
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.profiler import ProfilerActivity, profile, schedule  # noqa: E402

import ranks  # noqa: E402
from penstock.torch import build, from_torch  # noqa: E402

SAMPLES, MICRO_BATCH, COUNT, WIDTH = 32, 8, 4, 128
KINDS = {"forward": "F", "backward": "B", "input gradient": "I", "weight gradient": "W"}


def problem():
    torch.manual_seed(3)
    layers = [layer for _ in range(4) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    return nn.Sequential(*layers), torch.randn(SAMPLES, WIDTH), torch.randn(SAMPLES, WIDTH)


def recorded(cases):
    """Files of this rank's profiler, by case."""
    module, inputs, target = problem()
    for plan, csv_file, file in cases.values():
        pipeline = build(plan, module, inputs, loss=nn.functional.mse_loss, schedule_csv=csv_file)
        optimizer = torch.optim.SGD(pipeline.named_parameters().values(), lr=0.01)
        cycle = schedule(wait=1, warmup=1, active=2)
        with profile(activities=[ProfilerActivity.CPU], schedule=cycle) as profiler:
            for _ in range(4):
                optimizer.zero_grad()
                pipeline.step(inputs, target)
                optimizer.step()
                profiler.step()
        profiler.export_chrome_trace(file.format(rank=dist.get_rank()))


@pytest.fixture(scope="module")
def runs(penstock, tmp_path_factory):
    """Plan and profiles of two runs on two processes: 1F1B with a stage on each rank, and zero bubble with two."""
    folder = tmp_path_factory.mktemp("traces")
    module, inputs, _ = problem()
    model = from_torch(module, inputs[:MICRO_BATCH]).write(folder / "model.json")
    names = [op["name"] for op in json.loads((folder / "model.json").read_text())["operators"]]
    zero_bubble = folder / "interleaved_zb.csv"
    penstock("schedule", "interleaved_zb", "--ranks", 2, "--microbatches", COUNT, "--csv", zero_bubble)
    cases = {}
    for name, rank_of, order in (("1f1b", [0, 1], "1f1b"), ("zero_bubble", [0, 1, 0, 1], str(zero_bubble))):
        ends = [round(len(names) * (i + 1) / len(rank_of)) for i in range(len(rank_of))]
        stages = [
            {"devices": [rank], "micro_batch": MICRO_BATCH, "operators": names[begin:end]}
            for rank, begin, end in zip(rank_of, [0, *ends], ends)
        ]
        plan = {"penstock_plan": 1, "model": {"name": str(model)}, "cluster": {"name": "8xH100", "devices": 2},
                "training": {"mini_batch": SAMPLES}, "schedule": order, "stages": stages}  # fmt: skip
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
        ending = ".json.gz" if name == "zero_bubble" else ".json"  # torch packs by the name
        csv_file = str(zero_bubble) if order.endswith(".csv") else None
        cases[name] = (str(folder / f"{name}.yaml"), csv_file, str(folder / (name + "_rank{rank}" + ending)))
    ranks.run(2, recorded, cases)
    return {name: (plan, [file.format(rank=rank) for rank in range(2)]) for name, (plan, _, file) in cases.items()}


def operator_times(file, step):
    """Stage, kind and micro-batch of every pass, with its start and duration in seconds."""
    opened = gzip.open(file, "rt") if file.endswith(".gz") else open(file)
    with opened:
        events = [event for event in json.load(opened)["traceEvents"] if event.get("ph") == "X"]
    (step,) = (event for event in events if event["name"] == f"ProfilerStep#{step}")
    found = {}
    for event in events:
        name = re.fullmatch(r"PP:(\d+)([FBIW])(\d+)", event["name"])
        if not name or not step["ts"] <= event["ts"] < step["ts"] + step["dur"]:
            continue
        end = event["ts"] + event["dur"]
        inside = [op for op in events if op["cat"] == "cpu_op" and event["ts"] <= op["ts"] and op["ts"] + op["dur"] <= end]
        inside = [op for op in inside if not op["name"].startswith(("c10d::", "gloo:", "record_param_comms"))]
        begin = min((op["ts"] for op in inside), default=event["ts"])
        last = max((op["ts"] + op["dur"] for op in inside), default=begin)
        key = int(name[1]), name[2], int(name[3])
        old = found.get(key)  # torch's own name, and the one within it
        if old is None or begin < old[0]:
            found[key] = begin, last - begin
    return {key: (begin * 1e-6, length * 1e-6) for key, (begin, length) in found.items()}


@pytest.mark.parametrize("name", ["1f1b", "zero_bubble"])
def test_a_recorded_run_stands_beside_its_simulation(name, runs, penstock, tmp_path):
    """Every pass of the plan is there once, lasts as long as its operators, and runs in the plan's order."""
    plan, files = runs[name]
    compared = tmp_path / "compared"
    answer = json.loads(penstock("import", "trace", *files, "--plan", plan, "-o", compared, "--json"))
    assert answer["step"] == 3 and {row["timed_by"] for row in answer["ranks"]} == {"host"}
    assert not [note for note in answer["notes"] if "order" in note]
    times = answer["iteration_s"]
    assert times["measured"] - times["simulated"] == pytest.approx(sum(row["time_s"] for row in answer["causes"]))
    rows = list(csv.DictReader((compared / "comparison.csv").open()))
    passes = [row for row in rows if row["kind"] in KINDS]
    stages = len(yaml.safe_load(open(plan))["stages"])
    assert len(passes) == stages * COUNT * (2 if name == "1f1b" else 3)
    for rank, file in enumerate(files):
        oracle = operator_times(file, 3)
        mine = [row for row in passes if int(row["device"]) == rank]
        assert len(mine) == len(oracle)
        for row in mine:
            _, length = oracle[int(row["stage"]), KINDS[row["kind"]], int(row["micro_batch"])]
            assert float(row["duration_measured_s"]) == pytest.approx(length, abs=2e-9)
        by_start = sorted(mine, key=lambda row: float(row["start_simulated_s"]))
        assert [float(row["start_measured_s"]) for row in by_start] == sorted(float(row["start_measured_s"]) for row in mine)
    picture = (compared / "comparison.svg").read_text()
    for rank in range(2):
        assert f"{rank} measured" in picture and f"{rank} simulated" in picture
    assert (compared / "measured.pftrace").stat().st_size > 0


def test_profiles_of_another_plan_are_refused(runs, penstock):
    """The passes of two stages per rank are not those of one."""
    plan, _ = runs["1f1b"]
    _, files = runs["zero_bubble"]
    with pytest.raises(AssertionError, match="rank0.json.gz: .* on this rank"):
        penstock("import", "trace", *files, "--plan", plan)
