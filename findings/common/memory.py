"""Memory that torch allocates on the CPU, as its profiler records it, for findings."""

import json
import os
import tempfile

from torch.profiler import ProfilerActivity, profile


def measure(function):
    """Calls function() and returns the largest and the last sum of bytes that were allocated and not yet freed."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        result = function()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        recorded.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = [event["args"] for event in json.load(file)["traceEvents"] if event.get("name") == "[memory]"]
    now = peak = 0
    for event in sorted(events, key=lambda event: event["Ev Idx"]):
        now += event["Bytes"]
        peak = max(peak, now)
    del result  # kept until here, so that `now` counts what it holds
    return peak, now
