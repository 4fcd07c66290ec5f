#!/usr/bin/env python3
"""Training runs that others measured, predicted from public kernel tables: errors stay where they are.

  measured_runs_test.py PENSTOCK SOURCE_ROOT [all]

Without `all` every fourth run. The data is below $PENSTOCK_REFERENCE_DATA (default: ../shared/data beside the source root);
without it the test is skipped (exit 77). Limits are what is reached, with a little room, not what is wanted
(docs/published_runs.md).
"""
import csv
import gzip
import os
import subprocess
import sys
import tempfile

penstock, source = map(os.path.abspath, sys.argv[1:3])
every = 1 if sys.argv[3:] == ["all"] else 4
data = os.environ.get("PENSTOCK_REFERENCE_DATA", os.path.join(source, "../shared/data"))
runs = os.path.join(data, "published/runs.csv")
if not os.path.exists(runs):
    print(f"skipped: no {runs}")
    sys.exit(77)
CONSTANT = "and one constant per cluster and set"
# Set: the mean error's size as stated; and with one constant, where enough runs choose its kind, with the least tau. As stated
# two sets were nearer (29 and 8 % of all runs) while heads and losses were recomputed too, which Megatron-LM does not do. FSDP's
# gathers hid behind nothing then. These errors hid what kernels lose in a training run.
STATED = {"vtrain_single": 0.33, "vtrain_multi": 0.18, "mosaic_a100_40": 0.18, "mosaic_a100_80": 0.17}
LAUNCHED = {"vtrain_single": (0.075, 0.7)}
# With efficiencies by exact shape: time, memory.
EXACT = {"simumax_b200": (0.07, 0.02)}
failures = []


def unpack(table, file):
    with gzip.open(os.path.join(data, f"kernel_tables/{table}.gz")) as packed, open(file, "wb") as plain:
        plain.write(packed.read())


def check(holds, text):
    if not holds:
        failures.append(text)
        print("FAILED:", text)


def run(*arguments):
    done = subprocess.run([penstock, *arguments], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{arguments} -> {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def errors(folder):
    with open(os.path.join(folder, "errors.csv"), newline="") as file:
        return {(row["costs"], row["set"]): row for row in csv.DictReader(file)}


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    for table in ("a100_gemm", "a100_gemm_large", "a100_attention", "a100_nccl"):
        unpack(f"{table}.csv", f"{table}.csv")
    unpack("simumax/b200_bf16_ceperm.json", "b200.json")
    run("import", "kernels", "b200.json", "-o", "b200.yaml")
    run("import", "kernels", "a100_gemm.csv", "a100_gemm_large.csv", "a100_attention.csv", "a100_nccl.csv",
        "-o", "a100.yaml")
    with open(runs) as file:
        lines = file.readlines()
    with open("runs.csv", "w") as file:
        file.writelines([lines[0], *lines[1::every]])
    against = ["validate", "--against", "runs.csv", "--clusters", os.path.join(source, "experiments/published")]
    run(*against, "--costs", "data_sheet", "-o", "sheet")
    table = run(*against, "--costs", "a100.yaml", "-o", "tables")
    check("host_launch of vtrain_single on a100_single: " in table, "no constant is printed")
    sheet, tables = errors("sheet"), errors("tables")
    run(*against, "--costs", "b200.yaml", "-o", "exact")
    for name, (most, memory) in EXACT.items():
        row = errors("exact")["clusters as stated", name]
        check(float(row["mean"]) <= most, f"{name}: {row['mean']} with exact shapes, at most {most} so far")
        check(float(row["memory"]) <= memory, f"{name}: memory {row['memory']}, at most {memory} so far")
    for name, most in STATED.items():
        mean = float(tables["clusters as stated", name]["mean"])
        check(mean <= most, f"{name}: {mean} as stated, at most {most} so far")
        check(mean < float(sheet["clusters as stated", name]["mean"]), f"{name}: tables make it worse")
    for name, (most, tau) in LAUNCHED.items():
        row = tables[CONSTANT, name]
        check(float(row["mean"]) <= most, f"{name}: {row['mean']} with a constant, at most {most} so far")
        check(float(row["tau"]) >= tau, f"{name}: tau {row['tau']}, at least {tau} so far")
        judged, all_runs = int(row["runs"]), int(tables["clusters as stated", name]["runs"])
        check(judged < all_runs, f"{name}: runs that a constant stands on are judged by it")
sys.exit(bool(failures))
