"""Rules that an answer must obey, whatever the file."""

import json
import math
import re

ALLOWED = {0, 10, 11, 12, 20, 21, 31}  # the table of `penstock --help`, without defects, devices and interrupts
TOO_LONG = "s are handled"  # a limit of the search on the sum of many times
# A plan names its model and cluster, so the file at fault may be another one than the mutated.
A_FILE = re.compile(r"\w\.(?:yaml|json|csv|txt|sh|py)\b|^penstock: \S+:\d+: ", re.MULTILINE)
NO_NUMBER = re.compile(r"(?<![\w/.])-?(?:inf|nan)(?![\w/])", re.IGNORECASE)


def faults(reader, code, out, err, weights_known=True):
    """Reasons why this outcome is a failure; empty where it is none."""
    if code is None:
        return ["a hang"]
    if code < 0 or code > 128:
        return [f"a crash: exit code {code}"]
    if code not in ALLOWED:
        return [f"exit code {code}"]
    if code != 0:
        found = []
        if not err.strip():
            found.append(f"exit code {code} without a message")
        elif code in (11, 21) and TOO_LONG not in err and not A_FILE.search(err):
            found.append("a message without the file's name")
        if "Traceback" in err or "std::" in err or "what():" in err:
            found.append("a message of the program's insides")
        return found
    return _answer_faults(out, err)


def _answer_faults(out, err):
    if NO_NUMBER.search(out):
        return ["a number that is none"]
    start = out.find("{")
    if start != 0:
        return []
    try:
        answer = json.loads(out)
    except ValueError as fault:
        return [f"an answer that is no JSON: {fault}"]
    rows = [r for r in answer.get("results", [answer]) if isinstance(r, dict)]
    return [fault for row in rows for fault in _row_faults(row, err)]


def _row_faults(row, err):
    found = []

    def number(key):
        value = row.get(key)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    warned = "warning:" in err or bool(row.get("doubts"))
    mfu, seconds, bubble = number("mfu"), number("iteration_s"), number("bubble")
    if mfu is not None and mfu > 1 + 1e-9 and not warned:
        found.append(f"MFU {mfu * 100:.1f} % without a warning")
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0) and not warned:
        found.append(f"an iteration of {seconds} s without a warning")
    if bubble is not None and not -1e-9 <= bubble <= 1 + 1e-9:
        found.append(f"a bubble of {bubble}")
    rate, batch = number("samples_per_s"), number("mini_batch")
    if rate is not None and seconds and batch and not math.isclose(rate * seconds, batch, rel_tol=1e-6):
        if "lengths" not in row and row.get("schedule") not in ("pipedream", "pipedream_2bw", "async"):
            found.append(f"{rate} samples/s x {seconds} s are not {batch} samples")
    bound = number("any_plan_lower_bound_s") or number("lower_bound_s")
    if bound and seconds and seconds < bound * (1 - 1e-6):
        found.append(f"{seconds} s, below the lower bound of {bound} s")
    peaks = [d.get("memory_bytes", 0) for d in row.get("device_peaks", [])]
    for stage in row.get("stages", []) if isinstance(row.get("stages"), list) else []:
        memory = stage.get("memory_bytes", {})
        held = max((peaks[d] for d in stage.get("devices", []) if d < len(peaks)), default=None)
        if held is not None and held < memory.get("weights", 0):
            found.append(f"a peak of {held} B, below the weights of {memory['weights']} B")
    return found
