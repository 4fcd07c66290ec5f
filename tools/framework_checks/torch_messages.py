"""Messages between pipeline stages by `simulate --traffic`, compared with those of torch's own schedules.

torch.distributed.pipelining runs each rank of a pipeline on a fake process group, on a CPU. Stages are products of the hidden
width, and their tensors have the shape of a micro-batch. Every send and receive that reaches torch.distributed is counted
with its bytes.
"""
import collections
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.pipelining import PipelineStage  # noqa: E402
from torch.distributed.pipelining.schedules import PipelineScheduleSingle, get_schedule_class  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

Case = collections.namedtuple("Case", "schedule ranks chunks replicas context micro_batches")
SEQUENCE, WIDTH, SAMPLES = 64, 32, 2
NAMES = {"gpipe": "GPipe", "1f1b": "1F1B", "interleaved_1f1b": "Interleaved1F1B", "looped_bfs": "LoopedBFS",
         "interleaved_zb": "InterleavedZeroBubble"}
KINDS = {"send": "send", "recv_": "receive"}


def grid():
    out = []
    for schedule in NAMES:
        for ranks in (2, 4, 8):
            for chunks in (1,) if schedule in ("gpipe", "1f1b") else (2, 3):
                for replicas, context in ((1, 1), (2, 2)):
                    for micro_batches in (ranks, 2 * ranks):
                        out.append(Case(schedule, ranks, chunks, replicas, context, micro_batches))
    return out


def by_penstock(penstock, case, folder):
    """[rank] {kind: (count, bytes)}"""
    devices = case.ranks * case.replicas * case.context
    words = [
        f"--num-layers {case.ranks * case.chunks} --hidden-size {WIDTH} --num-attention-heads 4 --ffn-hidden-size 64",
        f"--seq-length {SEQUENCE} --max-position-embeddings {SEQUENCE} --vocab-size 512 --make-vocab-size-divisible-by 1",
        "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --bf16",
        "--untie-embeddings-and-output-weights",
        f"--micro-batch-size {SAMPLES} --global-batch-size {SAMPLES * case.replicas * case.micro_batches}",
        f"--pipeline-model-parallel-size {case.ranks}"]
    if case.chunks > 1:
        words.append(f"--num-virtual-stages-per-pipeline-rank {case.chunks}")
    if case.context > 1:
        words.append(f"--context-parallel-size {case.context} --cp-comm-type all_gather")
    script, plan = pathlib.Path(folder, "run.sh"), pathlib.Path(folder, "plan.yaml")
    script.write_text("\n".join(words) + "\n")
    gpus = f"8xH100x{devices // 8}" if devices >= 8 else f"1xH100x{devices}"
    subprocess.run([penstock, "import", "megatron", str(script), "--gpus", gpus, "-o", str(plan)], check=True, capture_output=True)
    lines = plan.read_text().splitlines()
    lines = [f"schedule: {case.schedule}" if line.startswith("schedule:") else line
             for line in lines if "in_flight:" not in line]
    plan.write_text("\n".join(lines) + "\n")
    told = subprocess.run([penstock, "simulate", str(plan), "--framework", "torchtitan", "--traffic", "--json", "--allow-oom"],
                          check=False, capture_output=True, text=True)
    if told.returncode:
        raise RuntimeError(told.stderr)
    return [{row["collective"]: [row["count"], row["bytes"]] for row in rank["rows"] if row["among"] == "pipeline"}
            for rank in json.loads(told.stdout)["traffic"]]


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.rows = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kind = KINDS.get(str(func).split(".")[1]) if "c10d" in str(func) else None
        if kind:
            row = self.rows.setdefault(kind, [0, 0])
            row[0] += 1
            row[1] += sum(each.numel() * each.element_size() for each in args[0])
        return func(*args, **(kwargs or {}))


def by_torch(case, rank):
    """{kind: (count, bytes)} of one replica's rank."""
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=case.ranks)
    shape = (SAMPLES, SEQUENCE // case.context, WIDTH)
    stages = []
    for chunk in range(case.chunks):
        product = torch.nn.Linear(WIDTH, WIDTH, dtype=torch.bfloat16)
        message = torch.empty(shape, dtype=torch.bfloat16)
        stages.append(PipelineStage(product, chunk * case.ranks + rank, case.ranks * case.chunks, torch.device("cpu"),
                                    input_args=(message.requires_grad_(),), output_args=(message,)))
    made = get_schedule_class(NAMES[case.schedule])
    single = issubclass(made, PipelineScheduleSingle)
    schedule = made(stages[0] if single else stages, n_microbatches=case.micro_batches, loss_fn=lambda out, _: out.float().sum())
    batch = torch.zeros((case.micro_batches * SAMPLES, *shape[1:]), dtype=torch.bfloat16)
    with Count() as count:
        schedule.step(*([batch] if rank == 0 else []), **({"target": batch} if rank == case.ranks - 1 else {}))
    return count.rows


def in_fork(case, rank):
    """Runs in a process of its own: a process group is made once per process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            answer = by_torch(case, rank)
        except Exception as error:  # noqa: BLE001
            answer = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        with os.fdopen(writer, "w") as stream:
            json.dump(answer, stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text)


def main():
    penstock, wrong, ranks = sys.argv[1], 0, 0
    cases = grid()
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            told = by_penstock(penstock, case, folder)
        faults = []
        for rank in range(case.ranks):
            seen = in_fork(case, rank)
            if seen != told[rank] or not seen:
                faults.append(f"rank {rank}: {told[rank]} told, {seen} seen")
        ranks += case.ranks
        wrong += bool(faults)
        if faults:
            print(f"{case}: {'; '.join(faults[:2])}")
    print(f"the last: rank {case.ranks - 1} of {case}: {told[-1]}")
    print(f"{len(cases) - wrong} of {len(cases)} equal, {ranks} ranks")
    sys.exit(1 if wrong else 0)


main()
