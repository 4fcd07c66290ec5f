#!/usr/bin/env python3
"""Values at and beyond the ends of what can be written: each is refused with its exit code, or what follows
from it is a number. No output with exit code 0 holds an "inf", a "nan" or a number of 40 digits.

    extreme_values_test.py PENSTOCK
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

KNOWN_CODES = {0, 10, 11, 20, 21, 31}
NO_NUMBER = re.compile(r"(?<![\w/.])-?(?:inf|nan)(?![\w/])|\d{40}", re.IGNORECASE)

USUAL = {"memory": "16GiB", "stream": "900GB/s", "overhead": "5us", "fp32": "15.7TFLOP/s",
         "bandwidth": "50GB/s", "latency": "1us"}
SPEEDS = ["0B/s", "1B/s", "1e18B/s", "1.1e18B/s", "1e308B/s", "1e308TB/s"]
TIMES = ["0s", "1e-320s", "1e7s", "1.1e7s", "1e308h"]
EXTREMES = {"memory": ["0B", "1B", "1024TiB", "1025TiB", "1e308TiB"], "stream": SPEEDS, "overhead": TIMES,
            "fp32": ["0FLOP/s", "1FLOP/s", "1e18FLOP/s", "1.1e18FLOP/s", "1e308FLOP/s"],
            "bandwidth": SPEEDS, "latency": TIMES}
FASTEST = {"stream": "1e18B/s", "overhead": "0s", "fp32": "1e18FLOP/s", "bandwidth": "1e18B/s", "latency": "0s"}
SLOWEST = {"stream": "1B/s", "overhead": "1e7s", "fp32": "1FLOP/s", "bandwidth": "1B/s", "latency": "1e7s"}
OPERATOR = {"forward_flops": 1e9, "input_gradient_flops": 1e9, "weight_gradient_flops": 1e9,
            "parameters": 1000, "output_bytes": 1000, "kept_bytes": 1000}

failures = []


def cluster_file(**changes):
    v = USUAL | changes
    return (f"name: c\ndevice_types:\n  g: {{memory: {v['memory']}, memory_bandwidth: {v['stream']}, "
            f"multiprocessors: 80, launch_overhead: {v['overhead']}, peak: {{fp32: {v['fp32']}}}}}\n"
            f"nodes:\n- {{count: 2, device: g, devices: 2, link: {{bandwidth: {v['bandwidth']}, "
            f"latency: {v['latency']}}}, uplink: {{bandwidth: {v['bandwidth']}, latency: {v['latency']}}}}}\n")


def model_file(**changes):
    first = {"name": "a", "kind": "profiled"} | OPERATOR | changes
    second = {"name": "b", "kind": "profiled", "inputs": ["a"]} | OPERATOR
    return json.dumps({"penstock": "model", "version": 1, "name": "m", "element_bytes": 4,
                       "operators": [first, second]})


def profile_file(time):
    curve = f"{{forward: {{1: {time}}}, backward: {{1: {time}}}}}"
    return f"penstock_profile: 1\ndevice: d\noperators:\n  a: {curve}\n  b: {curve}\n"


def run(what, *arguments):
    """Runs penstock; notes what is wrong of how it ends. Returns its exit code."""
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, timeout=60)
    wrong = NO_NUMBER.search(done.stdout)
    if done.returncode not in KNOWN_CODES:
        failures.append(f"{what}: exit code {done.returncode}: {done.stderr}")
    elif done.returncode == 0 and wrong:
        line = next(line for line in done.stdout.splitlines() if NO_NUMBER.search(line))
        failures.append(f"{what}: says {wrong.group()[:60]} in: {line[:200]}")
    elif done.returncode != 0 and "penstock: " not in done.stderr and "infeasible" not in done.stdout:
        failures.append(f"{what}: exit code {done.returncode} without a reason")
    return done.returncode


def plan(what, folder, cluster=None, model=None, *more):
    """Plans and simulates with these files; returns the planner's exit code."""
    (folder / "c.yaml").write_text(cluster or cluster_file())
    (folder / "m.json").write_text(model or model_file())
    problem = ["--model", str(folder / "m.json"), "--cluster", str(folder / "c.yaml"), "--mini-batch", "4"]
    (folder / "plan.yaml").unlink(missing_ok=True)
    code = run(f"{what}: plan", "plan", *problem, "--planner", "graphpipe", *more, "-o", str(folder / "plan.yaml"))
    if code == 0:
        run(f"{what}: simulate", "simulate", str(folder / "plan.yaml"), "--explain", "--json")
    return code


def compare(what, folder, cluster, model, *more):
    (folder / "c.yaml").write_text(cluster)
    (folder / "m.json").write_text(model)
    for form in ([], ["--json"]):
        run(f"{what}: compare {form}", "compare", "--model", str(folder / "m.json"), "--cluster",
            str(folder / "c.yaml"), "--mini-batch", "4", *form, *more)


def expect(what, code, wanted):
    if code != wanted:
        failures.append(f"{what}: exit code {code}, expected {wanted}")


def files_of_every_kind(folder):
    for key, values in EXTREMES.items():
        for value in values:
            plan(f"{key} {value}", folder, cluster_file(**{key: value}))
    for key in OPERATOR:
        for value in (0, 1e15, 1e30, 1e308, 5e-324, -1):
            plan(f"{key} {value}", folder, None, model_file(**{key: int(value) if "flops" not in key else value}))
    for time in ("0s", "1e-320s", "1ps", "1e7s", "1e308s"):
        (folder / "costs.yaml").write_text(profile_file(time))
        plan(f"profile {time}", folder, None, None, "--costs", str(folder / "costs.yaml"))


def worlds(folder):
    """All at once, by each planner."""
    idle = model_file(**dict.fromkeys(OPERATOR, 0))
    for speed, changes in (("fastest", FASTEST), ("slowest", SLOWEST)):
        compare(speed, folder, cluster_file(**changes), model_file())
        compare(f"{speed}, hardly any work", folder, cluster_file(**changes), idle)
    compare("as much work as can be", folder, cluster_file(),
            model_file(**{key: 1e30 if "flops" in key else 10**15 for key in OPERATOR}))


def flags(folder):
    for flag, values in {"--bucket": ["0B", "1048576TiB", "1e300TiB"], "--memory-limit": ["0B", "1048576TiB"],
                         "--time-limit": ["0s", "1e7s", "1e308h"], "--mini-batch": ["1", "9e18", "1e308"],
                         "--gradient-compression": ["5e-324", "1"],
                         "--activation-compression": ["5e-324", "inf"]}.items():
        for value in values:
            plan(f"{flag} {value}", folder, None, None, flag, value)
    for time in ("0", "5e-324", "1e6", "1e308", "1e-320s", "1e7s"):
        run(f"schedule --forward {time}", "schedule", "1f1b", "--ranks", "4", "--microbatches", "8", "--forward", time)


def what_is_promised(folder):
    """Beyond a bound is bad input; an iteration without length is more than the clock can measure."""
    expect("1e308FLOP/s", plan("1e308FLOP/s", folder, cluster_file(fp32="1e308FLOP/s")), 11)
    expect("1e308B/s", plan("1e308B/s", folder, cluster_file(bandwidth="1e308B/s")), 11)
    (folder / "costs.yaml").write_text(profile_file("0s"))
    still = plan("no time at all", folder, cluster_file(**FASTEST), model_file(**dict.fromkeys(OPERATOR, 0)),
                 "--costs", str(folder / "costs.yaml"))
    expect("no time at all", still, 31)


with tempfile.TemporaryDirectory() as scratch:
    for part in (files_of_every_kind, worlds, flags, what_is_promised):
        part(pathlib.Path(scratch))
print("\n".join(f"FAILED: {failure}" for failure in failures) or "all is finite, or refused")
sys.exit(1 if failures else 0)
