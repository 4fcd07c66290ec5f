#!/usr/bin/env python3
"""Rows that PipeDream's and Piper's authors' programs answered, made again from the command line.

  published_rows_test.py PENSTOCK SOURCE_ROOT [all]

Imports their files, plans, and compares the planner's own estimate. Without `all` only rows that take no time. The data is
below $PENSTOCK_REFERENCE_DATA (default: ../shared/data beside the source root); without it the test is skipped (exit 77).
"""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

TOLERANCE = 1e-9  # operator times are planned in whole picoseconds
ROOMY = 1 << 44  # bytes of a device: its own memory is no limit
penstock, source = map(os.path.abspath, sys.argv[1:3])
all_rows = sys.argv[3:] == ["all"]
data = os.environ.get("PENSTOCK_REFERENCE_DATA", os.path.join(source, "../shared/data"))
failures = []


def run(*arguments):
    return subprocess.run([penstock, *map(str, arguments)], capture_output=True, text=True, check=False)


def rows(path):
    with open(os.path.join(data, path), newline="") as file:
        return list(csv.DictReader(file))


def cluster(inside, machines, between):
    """Nodes of so many devices, each at the end of a cable; rates in bytes per second."""
    name = f"{machines[0]}x{machines[-1]}_{inside}_{between}.yaml"
    with open(name, "w") as file:
        file.write(f"""name: flat
device_types:
  d: {{memory: {ROOMY}B, memory_bandwidth: 1TB/s, multiprocessors: 1, launch_overhead: 0us, peak: {{fp32: 1TFLOP/s}}}}
nodes:
  - {{count: {machines[1]}, device: d, devices: {machines[0]}, link: {{bandwidth: {inside}B/s, latency: 0us}}, uplink: {{bandwidth: {between}B/s, latency: 0us}}}}
""")
    return name


def compare(what, found, expected):
    if found.returncode != 0:
        failures.append(f"{what}: exit {found.returncode}: {found.stderr.strip()[-300:]}")
        return
    ours = json.loads(found.stdout)["estimate_s"]
    if abs(ours - expected) > TOLERANCE * expected:
        failures.append(f"{what}: {ours!r} for {expected!r}, {ours / expected - 1:+.2e}")


# Samples of the mini-batch that was profiled; the files do not state it. GNMT is left out: its best answers have stages that are
# no part of a valid plan. The optimizer also takes the difference of cuts that do not lead to one another.
BATCH = {"alexnet": 256, "resnet18": 256, "squeezenet1_0": 256, "vgg16": 128, "resnet50": 128, "resnet101": 64,
         "densenet121": 64}


def pipedream_row(row):
    """One mini-batch of ours is as many of PipeDream's as every stage's replicas divide. Where each device must have a stage, an
    idle layer may be one: all layers are kept."""
    name, batch = row["profile"], BATCH[row["profile"]]
    if not os.path.exists(name + ".json"):
        made = run("import", "pipedream-graph", os.path.join(data, "pipedream", name, "graph.txt"), "--batch", batch,
                   "--all-layers", "-o", name + ".json", "--costs", name + ".yaml")
        if made.returncode != 0:
            failures.append(f"import {name}: {made.stderr}")
            return
    turns = math.lcm(*(int(r) for r in row["replication_per_final_stage"].replace(";", " ").split()))
    rate = float(row["bandwidths_Bps_innermost_first"])
    devices = int(row["levels_innermost_first"])
    found = run("plan", "--model", name + ".json", "--costs", name + ".yaml", "--cluster",
                cluster(rate, (devices, 1), rate), "--planner", "pipedream", "--option", "formula=code", "--option",
                "reduce=round", "--option", "memory=none", "--option",
                "straight=" + ("true" if "--straight_pipeline" in row["flags"] else "false"), "--any-degree", "--micro-batch",
                batch, "--mini-batch", batch * turns, "--choose-by", "estimate", "--json")
    compare(f"pipedream {name} on {devices} at {rate} B/s, {row['flags']}", found,
            float(row["pred_time_per_batch_s"]) * turns)


PLAIN = ("--activation_compression_ratio 1", "--activation_compression_ratio 1 --straight_pipeline")


def pipedream():
    count = 0
    for row in rows("pipedream/expected/optimizer_results.csv"):
        flat = len(row["levels_innermost_first"].split()) == 1
        quick = row["profile"] in ("alexnet", "vgg16", "resnet18") and int(row["levels_innermost_first"].split()[0]) <= 16
        if flat and row["flags"] in PLAIN and row["profile"] in BATCH and (all_rows or quick):
            pipedream_row(row)
            count += 1
    return count


RULES = {"piper": {"recompute": "greedy"}, "piper-exact-knapsack": {"recompute": "layer"}, "noar": {"recompute": "never"},
         "forcear": {"recompute": "always"}, "nodp": {"recompute": "greedy", "data_parallel": "false"},
         "notp": {"recompute": "greedy", "max_tensor_parallel": "1"}}


def piper_row(row):
    """On the devices that the row's plan uses: ours leaves none idle, and Piper's objective does not change."""
    name = row["workload"]
    if not os.path.exists(name + "_piper.json"):  # the published program takes all times for seconds
        made = run("import", "piper-json", os.path.join(data, "piper", name + ".json"), "--unit", "s", "-o",
                   name + "_piper.json", "--costs", name + "_piper.yaml")
        if made.returncode != 0:
            failures.append(f"import {name}: {made.stderr}")
            return
    devices = int(row["devices_used"]) or int(row["devices"])
    rate = float(row["bandwidth_bytes_per_s"])
    options = {"costs": "imported", "memory": row["mem_bytes"], **RULES[row["planner"]]}
    found = run("plan", "--model", name + "_piper.json", "--costs", name + "_piper.yaml", "--cluster",
                cluster(rate, (devices, 1), rate), "--planner", "piper",
                *(word for key, value in options.items() for word in ("--option", f"{key}={value}")), "--any-degree",
                "--micro-batch", 1, "--mini-batch", row["microbatches_in_batch"], "--choose-by", "estimate", "--json")
    what = f"piper {name} {row['planner']} on {devices}, {row['mem_bytes']} B, {rate} B/s"
    if float(row["tps"]) < 1e30:
        compare(what, found, float(row["tps"]) * int(row["microbatches_in_batch"]))
    elif found.returncode != 20:
        failures.append(f"{what}: exit {found.returncode} where no plan fits")


def piper():
    count = 0
    for row in rows("piper/piper_results.csv"):
        # an upper bound only, by the published program
        bound = row["planner"] == "piper-exact-knapsack" and row["workload"] == "resnet" and row["mem_bytes"] == "17179869184"
        quick = int(row["devices"]) <= 16 and (row["workload"].startswith("bert") or row["mem_bytes"] == "17179869184")
        if row["planner"] in RULES and not bound and os.path.exists(f"{data}/piper/{row['workload']}.json") and \
                (quick or all_rows and int(row["devices"]) <= 512):
            piper_row(row)
            count += 1
    return count


if not os.path.isdir(os.path.join(data, "piper")) or not os.path.isdir(os.path.join(data, "pipedream")):
    print(f"skipped: no reference data in {data}")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    counts = {"PipeDream": pipedream(), "Piper": piper()}
    os.chdir(source)
for failure in failures:
    print("FAILED:", failure)
print(", ".join(f"{count} rows of {name}" for name, count in counts.items()) + f"; {len(failures)} failed")
sys.exit(1 if failures or min(counts.values()) == 0 else 0)
