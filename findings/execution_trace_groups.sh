#!/usr/bin/env bash
# question: Does an execution trace of torch (the source of Chakra traces) hold the ranks of the groups of gloo's collectives?
# guess: Yes, in its node process_group:init.
# saw: That node lists the ranks of groups made later, but an empty list for the default group. A collective's node holds
#   '<Object>' in place of its group, so nothing connects the two. The profiler's trace of the same run does list all ranks.
# matters: A simulator that replays such a trace must take an empty list for all ranks, and cannot tell by itself which of two
#   groups a collective of a CPU run belongs to.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import json
import pathlib
import tempfile

import torch
import torch.distributed as dist
from ranks import run
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile


def check(rank):
    pair = dist.new_group([1, 3])
    with tempfile.TemporaryDirectory() as folder:
        execution, kineto = pathlib.Path(folder, "execution.json"), pathlib.Path(folder, "kineto.json")
        observer = ExecutionTraceObserver()
        observer.register_callback(str(execution))
        with profile(activities=[ProfilerActivity.CPU], execution_trace_observer=observer) as recorded:
            if rank in (1, 3):
                dist.all_reduce(torch.ones(5), group=pair)
            dist.all_reduce(torch.ones(6))
        recorded.export_chrome_trace(str(kineto))
        nodes = json.loads(execution.read_text())["nodes"]
        known = json.loads(kineto.read_text())["distributedInfo"]["pg_config"]
    if rank != 1:
        return
    groups = json.loads(next(node for node in nodes if "process_group:init" in node["name"])["inputs"]["values"][0])
    calls = [node["inputs"]["values"] for node in nodes if node["name"] == "c10d::allreduce_"]
    print("execution trace:", [(group["pg_desc"], group["ranks"], group["group_size"]) for group in groups])
    print("profiler:", [(group["pg_desc"], group["ranks"], group["pg_size"]) for group in known])
    print("collectives:", calls)
    assert [group["ranks"] for group in groups] == [[], [1, 3]]
    assert [group["ranks"] for group in known] == [[0, 1, 2, 3], [1, 3]]
    assert len(calls) == 2
    assert all(call[1] == "<Object>" and "pg_name" not in str(call) for call in calls)


if __name__ == "__main__":
    run(check, 4)
PYTHON
"$python" "$work/check.py"
