"""Random plans for exports: runs of Megatron-LM that `penstock import megatron` reads, and the settings of a plan file."""
import collections
import pathlib
import random
import re
import subprocess

Run = collections.namedtuple("Run", "text devices micro_batches ranks chunks layers")


def run(seed, family="llama"):
    """Arguments of a small model, with degrees, a split, groups, recomputation and numbers of every kind."""
    rng = random.Random(f"{family} {seed}")
    ranks, chunks = rng.choice([1, 2, 3, 4]), rng.choice([1, 1, 2, 3])
    if ranks == 1:
        chunks = 1
    tensor, context, data = rng.choice([1, 2]), rng.choice([1, 1, 2]), rng.choice([1, 2, 4])
    stages = ranks * chunks
    layers = stages * rng.randint(1, 3)
    micro_batch = rng.choice([1, 2])
    micro_batches = ranks * rng.randint(1, 4) + (0 if chunks > 1 else rng.randint(0, 3))
    words = [
        f"--num-layers {layers} --hidden-size 64 --num-attention-heads 8 --seq-length 64 --max-position-embeddings 64",
        f"--vocab-size {rng.choice([512, 1000])} --make-vocab-size-divisible-by {rng.choice([1, 128])}",
        f"--micro-batch-size {micro_batch} --global-batch-size {micro_batch * data * micro_batches}",
        "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear",
        f"--tensor-model-parallel-size {tensor} --pipeline-model-parallel-size {ranks}",
    ]
    if rng.random() < 0.7:
        words.append(f"--ffn-hidden-size {64 * rng.randint(1, 4)}")
    if rng.random() < 0.7:
        words.append("--untie-embeddings-and-output-weights")
    if family != "deepseek" and rng.random() < 0.6:
        # Transformer Engine's all-to-all gives every device of a group heads of keys and values
        words.append(f"--group-query-attention --num-query-groups {rng.choice([2, 4, 8] if context == 1 else [4, 8])}")
    if tensor > 1 and (family != "llama" or rng.random() < 0.5):
        words.append("--sequence-parallel")
    if context > 1:
        words.append(f"--context-parallel-size {context} --cp-comm-type {rng.choice(['p2p', 'all_gather', 'a2a'])}")
    if rng.random() < 0.5 or context > 1:
        words.append("--use-distributed-optimizer")
    words.append(rng.choice(["", "--bf16", "--fp16"]))
    if family != "llama":
        words.append(f"--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size {rng.choice([32, 48])}")
        if rng.random() < 0.5 and data * context > 1:
            words.append("--expert-model-parallel-size 2")
    if family == "deepseek":
        words.append("--multi-latent-attention --kv-lora-rank 16 --qk-head-dim 8 --qk-pos-emb-head-dim 8 --v-head-dim 8")
        dense = rng.randint(0, layers - 1)
        words.append(f"--moe-layer-freq '([0]*{dense}+[1]*{layers - dense})'" if dense else "")
    if stages > 1 and rng.random() < 0.6:
        words.append(f"--pipeline-model-parallel-layout '{layout(rng, layers, stages)}'")
    elif chunks > 1:
        words.append(f"--num-virtual-stages-per-pipeline-rank {chunks}")
    words.append(rng.choice(["", "", "--recompute-activations", "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"]))
    if rng.random() < 0.5:
        words.append("--overlap-grad-reduce")
    return Run("\n".join(words) + "\n", ranks * tensor * context * data, micro_batches, ranks, chunks, layers)


def layout(rng, layers, stages):
    """Stages with at least one part each, E first and L last."""
    cuts = sorted(rng.sample(range(1, layers + 2), stages - 1))
    letters = "E" + "t" * layers + "L"
    return "|".join(letters[a:b] for a, b in zip([0, *cuts], [*cuts, len(letters)]))


def imported(penstock, case, folder):
    """The plan file of a run, or the reason why Penstock refuses it."""
    script, plan = pathlib.Path(folder, "run.sh"), pathlib.Path(folder, "plan.yaml")
    script.write_text(case.text)
    done = subprocess.run(
        [penstock, "import", "megatron", str(script), "--gpus", f"1xH100x{case.devices}" if case.devices > 1 else "1xH100", "-o", str(plan)],
        capture_output=True, text=True, check=False)
    return (plan, "") if done.returncode == 0 else (None, done.stderr.strip())


def exported(penstock, plan, framework, *more):
    """(text, plan that is handed over, "") or ("", None, why not)."""
    near = plan.with_name("near.yaml")
    near.unlink(missing_ok=True)
    done = subprocess.run([penstock, "export", str(plan), "--to", framework, "--nearest", str(near), *more],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return "", None, done.stderr.strip()
    return done.stdout, near if near.exists() else plan, ""


def layers_of_stages(plan):
    """[stage] (whether it has the embedding, its layers, whether it has the head), and [stage] its first device."""
    stages, firsts = [], []
    for line in plan.read_text().splitlines():
        devices = re.match(r"\s*- devices: \[(\d+)", line)
        if devices:
            firsts.append(int(devices.group(1)))
        listed = re.match(r"\s*operators: \[(.*)\]", line)
        if listed:
            names = [name.strip() for name in listed.group(1).split(",")]
            layers = sorted({int(found.group(1)) for name in names if (found := re.match(r"layer(\d+)\.", name))})
            stages.append((any(name.startswith("token") for name in names), layers,
                           any(name.startswith(("head", "loss")) for name in names)))
    return stages, firsts
