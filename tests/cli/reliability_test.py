#!/usr/bin/env python3
"""Inputs that once gave silently wrong answers: each is refused, warned of, or read right, with its place named.

    reliability_test.py PENSTOCK

The inputs are below $PENSTOCK_REFERENCE_DATA/reliability (default: ../shared/data beside the source root); those that
are not there are skipped, all of them by exit code 77.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

source = pathlib.Path(__file__).resolve().parents[2]
data = pathlib.Path(os.environ.get("PENSTOCK_REFERENCE_DATA", source / "../shared/data")) / "reliability"
penstock = os.path.realpath(sys.argv[1])
failures = []
BAD = 11  # bad input


def run(*arguments):
    done = subprocess.run([penstock, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def check(what, holds, *shown):
    if not holds:
        failures.append(what)
        print(f"{what}:", *shown)


def imported(file, *more):
    return run("import", "megatron", file, "--gpus", "8xH100", "--devices", 8, "-o", "plan.yaml", *more)


def milliseconds():
    code, out, err = run("simulate", "plan.yaml", "--costs", "data_sheet")
    found = re.search(r"simulated ([\d.]+) ms", out)
    return float(found[1]) if code == 0 and found else (code, out, err)


def megatron_yes_no(folder):
    code, _, err = imported(folder / "run.yaml")
    check("bf16: no is off", code == 0 and abs(milliseconds() - 63.7) < 1, err)
    text = (folder / "run.yaml").read_text()
    for value in ("No", "off", "0", "FALSE", "false", ""):
        pathlib.Path("run.yaml").write_text(text.replace("bf16: no", f"bf16: {value}"))
        code, _, err = imported("run.yaml")
        check(f"bf16: {value} is off", code == 0 and abs(milliseconds() - 63.7) < 1, err)
    for value in ("n", "disabled", "''"):
        pathlib.Path("run.yaml").write_text(text.replace("bf16: no", f"bf16: {value}"))
        code, _, err = imported("run.yaml")
        check(f"bf16: {value} is refused", code == BAD and "run.yaml:17: bf16: a switch" in err, code, err)


def megatron_lists(folder):
    code, out, err = imported(folder / "run.yaml")
    check("a layout of lists is read", code == 0 and abs(milliseconds() - 16.4) < 1, out, err, milliseconds())


def megatron_unused_array(folder):
    code, out, err = imported(folder / "train.sh")
    check("an unused array does not count", code == 0 and "165.2 M parameters" in out, code, out, err)


def kernel_seconds(folder):
    code, _, err = run("import", "kernels", folder / "gemm_s.csv", "-o", "t.yaml")
    check("seconds for milliseconds are refused", code == BAD and "gemm_s.csv:2: latency: expected milliseconds" in err,
          code, err)
    code, out, err = run("plan", "--model", "gpt", "-p", "layers=8", "-p", "element_bytes=2", "--cluster", "dgx_a100",
                         "--devices", 4, "--mini-batch", 32, "--planner", "data_parallel", "--costs",
                         folder / "direct.yaml")
    check("a table in seconds is refused", code == BAD and "direct.yaml:" in err and "expected microseconds" in err,
          code, out, err)


def falling_profile(folder):
    code, out, err = run("plan", "--model", folder / "pm.json", "--cluster", "summit", "--devices", 2, "--mini-batch",
                         64, "--planner", "spp", "--costs", folder / "prof.yaml")
    check("a falling profile is refused", code == BAD and "prof.yaml:" in err and "time falls" in err, code, out, err)


def published_unit(folder):
    code, out, err = run("validate", "--against", folder / "runs.csv", "--clusters", source / "experiments/published")
    check("a time beyond the peak is warned of", code == 0 and re.search(r"warning: \S*runs.csv:\d+: measured_s", err),
          code, out, err)


folders = [megatron_yes_no, megatron_lists, megatron_unused_array, kernel_seconds, falling_profile, published_unit]
there = [test for test in folders if (data / test.__name__).is_dir()]
if not there:
    print(f"skipped: no {data}")
    sys.exit(77)
with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    for test in there:
        test(data / test.__name__)
print(f"{len(there)} of {len(folders)} kinds of input, {len(failures)} failures")
sys.exit(bool(failures))
