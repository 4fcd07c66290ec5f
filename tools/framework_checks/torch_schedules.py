"""Schedule files that Penstock writes, read by torch.distributed.pipelining's own loader.

Every family, pipelines of 1 to 8 ranks, 1 to 4 stages each, 1 to 17 micro-batches. A lowered file must be the one that
torch makes of the file without messages, action for action. Shapes that Penstock refuses are left out.
"""
import concurrent.futures
import csv
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

logging.disable(logging.WARNING)
from torch.distributed.pipelining.schedules import (  # noqa: E402
    REDUCE_GRAD,
    WAIT_REDUCE_GRAD,
    _Action,
    _PipelineScheduleRuntime,
)

# torch has no word for actions of these, or for their copies and halves of micro-batches.
FOREIGN = {"bpipe", "chimera", "dualpipe", "sliced_1f1b"}
RANKS, CHUNKS, MICRO_BATCHES = range(1, 9), range(1, 5), range(1, 18)


class Stage:
    """Replaces the stage methods that a schedule calls before it runs."""

    def __init__(self, ranks, stages):
        self.num_stages, self.group_size, self.group_rank = stages, ranks, 0
        self.stage_index, self.is_last = 0, stages == 1
        self.has_backward, self.submod = True, None


def normal(row):
    """The row with each reduction's wait right behind it. torch may queue receives of other ranks between."""
    out = []
    for action in row:
        if action.computation_type is WAIT_REDUCE_GRAD:
            out.insert(out.index(_Action(action.stage_index, REDUCE_GRAD)) + 1, action)
        else:
            out.append(action)
    return out


def runtime(ranks, stages, micro_batches):
    return _PipelineScheduleRuntime([Stage(ranks, stages)], micro_batches, loss_fn=lambda *_: None)


def written(penstock, family, shape, path, *more):
    ranks, chunks, micro_batches = shape
    command = [penstock, "schedule", family, "--ranks", str(ranks), "--microbatches", str(micro_batches), "--csv", str(path)]
    if chunks is not None:
        command += ["--chunks", str(chunks)]
    done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 11, 20):
        raise RuntimeError(f"{command}: {done.returncode}: {done.stderr}")
    return done.returncode == 0


def one(penstock, family, shape, folder):
    """None: refused by Penstock. "": equal. Else what is wrong."""
    name = f"{family}_{'_'.join(map(str, shape))}"
    compute, lowered = folder / f"{name}.csv", folder / f"{name}_lowered.csv"
    if not written(penstock, family, shape, compute):
        return None
    if not written(penstock, family, shape, lowered, "--lower"):
        return "Penstock refuses to lower it"
    ranks, chunks, micro_batches = shape
    ours, theirs = runtime(ranks, ranks * chunks, micro_batches), runtime(ranks, ranks * chunks, micro_batches)
    try:
        theirs._load_csv(str(compute), format="compute_only")
        ours._load_csv(str(lowered), format="compute_comms")
    except Exception as error:  # noqa: BLE001: whatever torch raises is the answer
        return f"{type(error).__name__}: {str(error)[:200]}"
    for rank, row in theirs.pipeline_order_with_comms.items():
        mine, row = normal(ours.pipeline_order_with_comms[rank]), normal(row)
        for place, (a, b) in enumerate(zip(mine, row)):
            if a != b:
                return f"rank {rank} cell {place}: {a} where torch has {b}"
        if len(mine) != len(row):
            return f"rank {rank}: {len(mine)} actions where torch has {len(row)}"
    compute.unlink(), lowered.unlink()
    return ""


def main(penstock):
    listed = json.loads(subprocess.run([penstock, "schedules", "--json"], capture_output=True, text=True, check=True).stdout)
    names = [each["name"] for each in listed]
    failed = 0
    print(f"{'family':<18} {'files':>6} {'refused':>8} {'equal':>6}")
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(temporary)
        shapes = [(p, v, m) for p in RANKS for v in CHUNKS for m in MICRO_BATCHES]
        for family in names:
            if family in FOREIGN:
                print(f"{family:<18} torch has no word for its actions")
                continue
            answers = list(pool.map(lambda shape: (shape, one(penstock, family, shape, folder)), shapes))
            made = [(shape, answer) for shape, answer in answers if answer is not None]
            wrong = [(shape, answer) for shape, answer in made if answer]
            print(f"{family:<18} {len(made):>6} {len(answers) - len(made):>8} {len(made) - len(wrong):>6}", flush=True)
            for shape, answer in wrong[:3]:
                print(f"    p, v, m = {shape}: {answer}")
            failed += len(wrong)
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1]) else 0)
