#!/usr/bin/env python3
"""Tests the published tools: the searches and choices that tools/published_choices states, and the runs that
tools/published_runs takes for lasting load. Also tests the figures of tools/gaps for the fastest plans and for a search.

  published_tools_test.py SOURCE_ROOT

The space is held against the measured winners in published/tables.csv, below $PENSTOCK_REFERENCE_DATA (default: ../shared/data beside
the source root), where it is there.
"""
import importlib.machinery
import importlib.util
import math
import os
import pathlib
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1]).resolve()
data = pathlib.Path(os.environ.get("PENSTOCK_REFERENCE_DATA", source / "../shared/data"))
sys.dont_write_bytecode = True


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, str(source / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


tool = load("published_choices")

# nanotron, docs/3d_parallelism.md: Llama 3 8B in eight stages.
layer, head = 4 * 4096 * 4096 + 3 * 14336 * 4096, 128256 * 4096
assert tool.layers_per_stage(32, 8, layer, head) == "5 4 4 5 4 4 4 2"
assert tool.layers_per_stage(32, 1, layer, head) == "32"
assert tool.layers_per_stage(4, 4, layer, 8 * layer) is None  # two stages would have no layer

cell = {"gpus": "16", "global_batch": "32", "layers": "8", "hidden": "512", "ffn": "2048", "vocab": "1024", "heads": "32",
        "kv_heads": "32", "seq": "128"}
rows = list(tool.space(cell))
assert len({row["id"] for row in rows}) == len(rows) > 20
for row in rows:
    assert row["tp"] * row["pp"] * row["dp"] == 16
    replica = row["dp"] * row["micro_batch"]
    assert 32 % replica == 0 and 32 // replica >= row["pp"] - 1
    assert row["dp"] > 1 or row["zero"] == 0
    assert ("overlap" in row["ignored"]) == (row["zero"] == 0)
    assert sum(map(int, row["layers_per_stage"].split())) == 8

winner = {"tp": "2", "pp": "1", "dp": "8", "micro_batch": "1", "zero": "0"}


def verdict(seconds, rival_gib):
    return tool.choice("a cell", winner, {("a cell", tool.configuration(winner)): (seconds, 90), ("a cell", "rival"): (1, rival_gib),
                                          ("another cell", "rival"): (0.1, 1)})


assert verdict(1.02, 10)["chosen"] == "yes" and verdict(1.02, 10)["rank"] == 2
assert verdict(1.04, 10)["chosen"] == "no" and verdict(1.04, 10)["ours"] == "rival"
assert verdict(9, 81)["chosen"] == "yes"  # the rival does not fit; the winner ran, whatever is counted

if (data / "published/tables.csv").exists():
    cells = list(tool.cells(data))
    assert cells
    for name, known in cells:
        assert tool.configuration(known) in {row["id"] for row in tool.space(known)}, name


def lasting(ratio):
    """Tables of a made-up device of 1 TFLOP/s, whose products take ratio(log of m n k) times as long under lasting load."""
    shapes = [(1024, 1 << i, 2048) for i in range(9, 15)]
    table = [{"m": str(m), "n": str(n), "k": str(k), "latency": str(2 * m * n * k / 1e9)} for m, n, k in shapes]
    factors = {f"b=1, m={m + 100}, k={k}, n={n}, layout=TN": 1 / ratio(math.log((m + 100) * n * k)) for m, n, k in shapes}
    factors["b=1, m=1024, k=2048, n=3000000, layout=TN"] = 0.01  # nothing near it was timed
    return load("published_runs").lasting_load(table, {"accelerator": {"op": {"matmul": {
        "tflops": 1, "accurate_efficient_factor": factors}}}})


small, large = math.log(1124 * 512 * 2048), math.log(1124 * 16384 * 2048)
assert math.isclose(lasting(lambda size: 1.4)(small), 1.4) and math.isclose(lasting(lambda size: 1.4)(large), 1.4)
grows = lasting(lambda size: 1.2 + 0.05 * (size - small))
assert math.isclose(grows((small + large) / 2), 1.2 + 0.025 * (large - small))
assert grows(large + 9) == grows(large) and grows(small - 9) == grows(small)
assert lasting(lambda size: 0.8)(small) == 1  # nothing gets faster

with tempfile.TemporaryDirectory() as folder:
    def table(name, *lines):
        (pathlib.Path(folder) / name).write_text("\n".join(lines) + "\n")

    def gaps(*more):
        return subprocess.run([source / "tools/gaps", pathlib.Path(folder) / "results.csv", *more], capture_output=True, text=True)

    table("results.csv", "model,cluster,devices,planner,iteration_s,gap,bubble", "net,fast,8,spp,2,0.5,0.1", "net,fast,8,joint,1.5,0.125,0.1",
          "net,fast,16,joint,1,0.25,0", "net,fast,16,spp,,,")
    table("timings.csv", "model,cluster,devices,planner,search_s", "net,fast,8,joint,3", "other,fast,8,joint,5", "net,fast,16,joint,7",
          "net,fast,16,spp,")
    told = gaps("--search", "joint").stdout
    assert "| net | fast | 12.5 % (11.2) | 25.0 % (0.0) |" in told and "2 cells: median 18.8 %, 90th percentile 25.0 %." in told, told
    assert "Search of joint, median (most): 8 devices 4.0 s (5), 16 devices 7.0 s (7)." in told, told
    assert "Search" not in gaps().stdout
    assert gaps("--search", "spp").returncode == 1
    (pathlib.Path(folder) / "timings.csv").unlink()
    assert gaps("--search", "joint").stderr == f"{folder}/timings.csv: No such file or directory\n"
    # The least bound of a cell's rows counts: 2 / 1.9 is 5.3 % above it, 1.2 / 1 is 20 %.
    table("results.csv", "model,cluster,devices,planner,iteration_s,lower_bound_s,gap,bubble", "net,fast,8,spp,2,1.95,0.03,0",
          "net,fast,8,joint,1.96,1.9,0.03,0", "net,fast,16,spp,1.2,1,0.2,0", "net,fast,16,joint,,,,")
    told = gaps("--near", "spp").stdout
    assert "spp: 1 of 2 cells less than 7 % above every bound of theirs, 12.6 % in the median." in told, told
