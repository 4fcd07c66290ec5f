#!/usr/bin/env python3
"""Ctrl-C in searches, at random moments: the best plan so far is shown and written, valid, with exit code 30. If
there is none yet, nothing is written. A second one ends the program at once.

    interrupts_test.py PENSTOCK
"""

import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

PENSTOCK = sys.argv[1]
PROBLEM = ["--model", "mmt", "-p", "layers=8", "--cluster", "p3_16xlarge", "--devices", "16", "--mini-batch", "512"]
#: Under load; on an idle machine a search ends within a fraction of a second.
PATIENCE = 10.0

failures = []


def fail(what):
    failures.append(what)


def interrupted(arguments, after, sent=signal.SIGINT, times=1):
    """Runs penstock and interrupts it `after` so many seconds: exit code, both outputs, seconds from there to its end."""
    running = subprocess.Popen([PENSTOCK, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    time.sleep(after)
    begin = time.monotonic()
    for _ in range(times):
        running.send_signal(sent)
        time.sleep(0.05 if times > 1 else 0)
    out, err = running.communicate(timeout=120)
    return running.returncode, out, err, time.monotonic() - begin


def simulated(plan):
    done = subprocess.run([PENSTOCK, "simulate", plan, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"simulate refuses {plan}: {done.stderr}")
        return None
    return json.loads(done.stdout)["iteration_s"]


def check_end(what, end, plan):
    """True if there was a plan: shown, written and valid."""
    code, out, err, took = end
    if took > PATIENCE:
        fail(f"{what}: {took:.1f} s until it ended")
    if code == -signal.SIGINT or code == -signal.SIGTERM:  # before the search began
        code, err = 30, err + "interrupted, and no plan was found until then"
    if code == 0:  # it was done
        return simulated(plan) is not None
    if code != 30:
        fail(f"{what}: exit {code}: {err}")
        return False
    if not plan.exists():
        if out or "interrupted, and no plan was found until then" not in err:
            fail(f"{what}: no plan, and it says: {out}{err}")
        return False
    shown = json.loads(out)
    if not shown["status"].startswith("interrupted: the "):
        fail(f"{what}: the status is {shown['status']}")
    if simulated(plan) != shown["iteration_s"]:
        fail(f"{what}: the plan written is not the plan shown")
    return True


def searches(scratch, moments):
    """Searches of all kinds, longer and longer before they are interrupted, until there was a plan."""
    kinds = [["--planner", "joint"], ["--planner", "joint", "--aim", "memory"], ["--planner", "graphpipe"],
             ["--planner", "megatron", "--aim", "cost"], ["--planner", "pipedream"]]
    for number, kind in enumerate(kinds):
        for attempt in range(9):
            plan = scratch / f"plan{number}_{attempt}.yaml"
            end = interrupted(["plan", *PROBLEM, *kind, "--json", "-o", str(plan)],
                              moments.uniform(0, 0.1 * 2**attempt),
                              moments.choice([signal.SIGINT, signal.SIGTERM]))
            if check_end(f"{' '.join(kind)}, attempt {attempt}", end, plan):
                break
        else:
            fail(f"{kind}: never a plan")


def behind_the_search(scratch, moments):
    """The bound of a plan on many devices takes longer than the search: wherever it is interrupted, the plan stays."""
    problem = ["--model", "llama", "-p", "size=llama3-70b", "--gpus", "8xH100x8", "--mini-batch", "256", "--planner", "megatron"]
    bounds = set()
    for attempt in range(8):
        plan = scratch / f"bound{attempt}.yaml"
        end = interrupted(["plan", *problem, "--json", "-o", str(plan)], moments.uniform(0.3, 0.6 + 0.4 * attempt))
        if check_end(f"behind the search, attempt {attempt}", end, plan):
            bounds.add(json.loads(end[1])["any_plan_lower_bound_s"] is None)
    if not bounds:
        fail("behind the search: never a plan")


def improvement(scratch):
    begin = scratch / "begin.yaml"
    subprocess.run([PENSTOCK, "plan", *PROBLEM, "--planner", "gpipe_equal", "-o", str(begin)], check=True,
                   capture_output=True)
    for attempt in range(9):
        better = scratch / f"better{attempt}.yaml"
        end = interrupted(["improve", str(begin), "--evaluations", "1000000000", "--json", "-o", str(better)],
                          0.1 * 2**attempt)
        if check_end(f"improve, attempt {attempt}", end, better):
            if simulated(better) > simulated(begin):
                fail("improve: slower than the plan given")
            return
    fail("improve: never a plan")


def front(scratch):
    for attempt in range(9):
        path = scratch / f"front{attempt}"
        code, out, err, took = interrupted(["pareto", *PROBLEM, "-o", str(path)], 0.2 * 2**attempt)
        plans = sorted(scratch.glob(f"front{attempt}-*.yaml"))
        if took > PATIENCE:
            fail(f"pareto: {took:.1f} s until it ended")
        if code not in (30, -signal.SIGINT) or (code == 30) and bool(plans) != bool(out):
            fail(f"pareto: exit {code}, {len(plans)} plans: {out}{err}")
        if plans:
            if "an interrupt ended the search" not in err:
                fail(f"pareto does not say that it was interrupted: {err}")
            if len(plans) != len(re.findall(r"^ *\d+ ", out, re.MULTILINE)):
                fail(f"pareto: {len(plans)} plans written of {out}")
            for plan in plans:
                simulated(plan)
            return
    fail("pareto: never a plan")


def second_ends_at_once(scratch):
    plan = scratch / "twice.yaml"
    code, _, _, took = interrupted(["plan", *PROBLEM, "-o", str(plan)], 0.5, times=2)
    if code not in (30, -signal.SIGINT) or took > PATIENCE or plan.exists() and simulated(plan) is None:
        fail(f"interrupted twice: exit {code} after {took:.1f} s")


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        searches(scratch, random.Random(seed))
        behind_the_search(scratch, random.Random(seed))
        improvement(scratch)
        front(scratch)
        second_ends_at_once(scratch)
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


sys.exit(main())
