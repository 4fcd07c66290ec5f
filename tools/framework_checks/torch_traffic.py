"""Traffic by `simulate --traffic`, compared with traffic of torchtitan's own model.

torchtitan's functions build and divide the model of an export, on a fake process group, on a CPU. Micro-batches run
forward and backward. Every collective that reaches torch.distributed is counted with its bytes. Attention's kernel is
replaced by torch's own, because flex attention needs a GPU. The loss is the sum of the logits.

Count and bytes are equal, except for habits of torch that the table names.

  norms     Gradients of norms are summed over the tensor-parallel group in every micro-batch, one by one.
  gathers   With reshard_after_forward "never" FSDP2 frees weights after every backward pass, and gathers them in every
            forward pass. ZeRO 2 gathers them once, after the update.
  keys      Keys and values are gathered one by one over the context group, and kept whole for the backward pass.
            Penstock gathers them again, like Transformer Engine.
"""
import collections
import importlib
import itertools
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
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")
os.environ["LOCAL_RANK"] = os.environ["RANK"] = "0"

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torchtitan.distributed.parallel_dims as dims_module  # noqa: E402
import torchtitan.models.common.attention as attention  # noqa: E402
from torch.distributed.tensor import DTensor  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torchtitan.config.manager import ConfigManager  # noqa: E402
from torchtitan.distributed.utils import get_spmd_context  # noqa: E402

Case = collections.namedtuple("Case", "devices tensor context replicate zero micro_batches kv")
SEQUENCE, LAYERS, WIDTH, HEADS = 64, 4, 256, 8  # torch initializes no weight with fewer rows than ranks
KINDS = {"all_reduce": "all-reduce", "allreduce_": "all-reduce", "_allgather_base_": "all-gather",
         "all_gather_into_tensor": "all-gather", "_reduce_scatter_base_": "reduce-scatter", "reduce_scatter_tensor": "reduce-scatter"}


def grid():
    """Degrees on 2 to 256 devices, each with one and with two micro-batches."""
    out = []
    for devices, tensor, context in itertools.product([2, 8, 64, 256], [1, 2, 4], [1, 2]):
        data = devices // tensor // context
        if data * tensor * context != devices or data * context < 2:
            continue
        for zero, micro_batches in [(3, 1), (3, 2), (2, 1), (2, 3)]:
            out.append(Case(devices, tensor, context, 1, zero, micro_batches, HEADS if context == 1 else 4))
    return out


def plan_of(penstock, case, folder):
    data = case.devices // case.tensor // case.context
    words = [
        f"--num-layers {LAYERS} --hidden-size {WIDTH} --num-attention-heads {HEADS} --ffn-hidden-size 512",
        f"--seq-length {SEQUENCE} --max-position-embeddings {SEQUENCE} --vocab-size 512 --make-vocab-size-divisible-by 1",
        "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear",
        "--untie-embeddings-and-output-weights --use-distributed-optimizer --bf16",
        f"--micro-batch-size 2 --global-batch-size {2 * data * case.micro_batches}",
        f"--tensor-model-parallel-size {case.tensor}"]
    if case.kv != HEADS:
        words.append(f"--group-query-attention --num-query-groups {case.kv}")
    if case.tensor > 1:
        words.append("--sequence-parallel")
    if case.context > 1:
        words.append(f"--context-parallel-size {case.context} --cp-comm-type all_gather")
    pathlib.Path(folder, "run.sh").write_text("\n".join(words) + "\n")
    gpus = f"8xH100x{case.devices // 8}" if case.devices >= 8 else f"1xH100x{case.devices}"
    subprocess.run([penstock, "import", "megatron", f"{folder}/run.sh", "--gpus", gpus, "-o", f"{folder}/plan.yaml"],
                   check=True, capture_output=True)
    plan = pathlib.Path(folder, "plan.yaml")
    plan.write_text(plan.read_text().replace("zero: 1", f"zero: {case.zero}"))
    text = subprocess.run([penstock, "export", str(plan), "--to", "torchtitan"], check=True, capture_output=True, text=True).stdout
    pathlib.Path(folder, "penstock_job.py").write_text(text)
    told = subprocess.run([penstock, "simulate", str(plan), "--framework", "torchtitan", "--traffic", "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(told)["traffic"][0]["rows"]


def among_of(args, kind, tensor):
    """FSDP moves flat tensors, and activations have dimensions; the ranks of a tensor-parallel group are neighbours."""
    if kind == "all-reduce":
        return "tensor"
    if tensor.dim() == 1:
        return "replicas"
    group = next(dist.ProcessGroup.unbox(each) for each in args if isinstance(each, torch.ScriptObject))
    ranks = dist.get_process_group_ranks(group)
    return "tensor" if CASE.tensor > 1 and ranks == list(range(CASE.tensor)) else "context"


class Count(TorchDispatchMode):
    """Bytes of every collective by (kind, among): the gathered tensor, or the one before it is scattered or reduced."""

    def __init__(self):
        super().__init__()
        self.count, self.bytes = collections.Counter(), collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(issubclass(each, DTensor) for each in types):
            return NotImplemented  # until it is made of plain tensors
        out = func(*args, **(kwargs or {}))
        kind = KINDS.get(str(func).split(".")[1]) if "c10d" in str(func) else None
        if kind:
            tensors = [each for each in (*args, out) if isinstance(each, torch.Tensor)]
            largest = max(tensors, key=torch.numel)
            among = among_of(args, kind, largest)
            self.count[kind, among] += 1
            self.bytes[kind, among] += largest.numel() * largest.element_size()
        return out


def plain_attention(self, q_BLNH, k_BLNH, v_BLNH, **_):
    heads = [each.transpose(1, 2) for each in (q_BLNH, k_BLNH, v_BLNH)]
    return torch.nn.functional.scaled_dot_product_attention(*heads, enable_gqa=True).transpose(1, 2)


def sent_by_torchtitan(case, folder):
    global CASE
    CASE = case
    os.environ["WORLD_SIZE"] = str(case.devices)
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=case.devices)
    dims_module.device_type = "cpu"
    attention.FlexAttention.forward = plain_attention
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    config = ConfigManager().parse_args(["--module", "penstock_job", "--config", "train"])
    degrees = config.parallelism
    dims = dims_module.ParallelDims(
        dp_replicate=degrees.data_parallel_replicate_degree, dp_shard=degrees.data_parallel_shard_degree,
        cp=degrees.context_parallel_degree, tp=degrees.tensor_parallel_degree, pp=degrees.pipeline_parallel_degree,
        ep=degrees.expert_parallel_degree, world_size=case.devices, spmd_backend=degrees.spmd_backend)
    dims.build_mesh()
    spec = config.model_spec
    spec.model.update_from_config(config=config)
    with torch.device("meta"):
        model = spec.model.build()
    model = spec.parallelize_fn(model, parallel_dims=dims, training=config.training, parallelism=degrees,
                                compile_config=config.compile, ac_config=config.activation_checkpoint, dump_folder=folder)
    model.to_empty(device="cpu")
    with torch.no_grad():
        model.init_weights(buffer_device=torch.device("cpu"))
    length = SEQUENCE // case.context
    tokens = torch.zeros(config.training.local_batch_size, length, dtype=torch.long)
    positions = torch.arange(length).repeat(tokens.shape[0], 1)
    with get_spmd_context(parallel_dims=dims)(), Count() as count:
        for _ in range(case.micro_batches):
            out = model(tokens, positions)
            (out.to_local() if isinstance(out, DTensor) else out).float().sum().backward()
    return [[*key, count.count[key], count.bytes[key]] for key in sorted(count.count)]


def in_fork(case, folder):
    """Runs in a process of its own, which imports nothing again: a process group is made once per process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            answer = {"rows": sent_by_torchtitan(case, folder)}
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


def differences(case, told, seen):
    """(differences that nothing explains, names of those that something does)."""
    told = {(row["collective"], row["among"]): (row["count"], row["bytes"]) for row in told}
    seen = {(kind, among): (count, size) for kind, among, count, size in seen}
    explained = []
    norms = ("all-reduce", "tensor")
    if norms in told and norms in seen and case.micro_batches * told[norms][1] == seen[norms][1]:
        told[norms] = seen[norms]
        explained.append("norms")
    gathers = ("all-gather", "replicas")
    if case.zero == 2 and gathers in told and gathers in seen and case.micro_batches * told[gathers][1] == seen[gathers][1]:
        told[gathers] = seen[gathers]
        explained.append("gathers")
    for key, times in [(("all-gather", "context"), 2), (("reduce-scatter", "context"), 1)]:
        if key in told and key in seen and told[key][1] == times * seen[key][1]:
            told[key] = seen[key]
            explained.append("keys")
    wrong = [f"{' '.join(key)}: {told.get(key, (0, 0))} told, {seen.get(key, (0, 0))} seen"
             for key in sorted({*told, *seen}) if told.get(key) != seen.get(key)]
    return wrong, sorted(set(explained))


def main():
    penstock, failed = sys.argv[1], 0
    cases = grid()
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            told = plan_of(penstock, case, folder)
            answer = in_fork(case, folder)
        wrong, explained = ([answer["error"]], []) if "error" in answer else differences(case, told, answer["rows"])
        failed += bool(wrong)
        print(f"{case.devices:4} devices TP{case.tensor} CP{case.context} ZeRO {case.zero}, {case.micro_batches} micro-batches: "
              + ("; ".join(wrong) if wrong else "equal" + (f", except for {', '.join(explained)}" if explained else "")))
    print(f"{len(cases) - failed} of {len(cases)} as told")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
