"""Exports for torchtitan, NeMo AutoModel and DeepSpeed, loaded by their own config classes, splitters and parsers.

torchtitan: the config function by its ConfigManager, the stages by its splitter on the meta device, parameters against the
plan's model. AutoModel: `distributed` by the parser of its recipes. DeepSpeed: the file by its config class. accelerate: the file by its launcher's reader, sizes by ParallelismConfig.
"""
import contextlib
import importlib
import io
import json
import logging
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")

import torch  # noqa: E402
import yaml  # noqa: E402

import cases  # noqa: E402


def parameters(penstock, plan):
    """Counts of the plan's model, from its operators."""
    head = yaml.safe_load("".join(line for line in plan.read_text().splitlines(True) if "operators:" not in line))
    words = [word for key, value in head["model"]["parameters"].items()
             for word in ("-p", f"{key}={'yes' if value is True else 'no' if value is False else value}")]
    done = subprocess.run([penstock, "model", head["model"]["name"], *words, "--json"], capture_output=True, text=True, check=True)
    return sum(each.get("parameters", 0) for each in json.loads(done.stdout)["operators"]), head


def titan(penstock, case, plan, text, given, folder):
    from torchtitan.config.manager import ConfigManager
    from torchtitan.distributed.parallel_dims import ParallelDims
    from torchtitan.distributed.pipeline_parallel import _get_pp_rank_to_stage_indices_mapping, _split_module
    name = f"penstock_job_{abs(hash(folder))}"
    pathlib.Path(folder, name + ".py").write_text(text)
    sys.path.insert(0, str(folder))
    try:
        importlib.invalidate_caches()
        config = ConfigManager().parse_args(["--module", name, "--config", "train"])
    finally:
        sys.path.remove(str(folder))
    degrees = config.parallelism
    ParallelDims(dp_replicate=degrees.data_parallel_replicate_degree, dp_shard=degrees.data_parallel_shard_degree,
                 cp=degrees.context_parallel_degree, tp=degrees.tensor_parallel_degree, pp=degrees.pipeline_parallel_degree,
                 ep=degrees.expert_parallel_degree, world_size=case.devices)
    with torch.device("meta"):
        model = config.model_spec.model.build()
    count = sum({id(p): p.numel() for p in model.parameters()}.values())
    expected, head = parameters(penstock, given)
    if count != expected:
        return f"{count} parameters where the plan has {expected}"
    replicas = degrees.data_parallel_replicate_degree * degrees.data_parallel_shard_degree
    batch = config.training.local_batch_size
    if degrees.pipeline_parallel_degree == 1:
        return "" if config.training.global_batch_size % (batch * replicas) == 0 else "batches do not divide"
    if batch * replicas != config.training.global_batch_size:
        return f"{replicas} replicas of {batch} samples are not {config.training.global_batch_size}"
    stages, firsts = cases.layers_of_stages(given)
    lists = degrees.module_fqns_per_model_part
    each = max(1, case.devices // degrees.pipeline_parallel_degree)
    for rank in range(degrees.pipeline_parallel_degree):
        for stage in _get_pp_rank_to_stage_indices_mapping(rank, degrees.pipeline_parallel_degree,
                                                           degrees.pipeline_parallel_schedule, len(lists)):
            part = _split_module(model, lists[stage])
            ends = part.tok_embeddings is not None, sorted(int(i) for i in part.layers), part.lm_head is not None
            if ends != (stages[stage][0], stages[stage][1], stages[stage][2]) or (part.norm is None) == ends[2]:
                return f"stage {stage} has {ends} where the plan has {stages[stage]}"
            if firsts[stage] // each != rank:
                return f"stage {stage} is on rank {rank} where the plan has device {firsts[stage]}"
    return ""


def automodel(penstock, case, plan, text, given, folder):
    from nemo_automodel.recipes import _dist_utils
    recipe = yaml.safe_load(text)
    parse = next(getattr(_dist_utils, name) for name in ("parse_distributed_section", "_parse_distributed_section")
                 if hasattr(_dist_utils, name))
    read = parse(dict(recipe["distributed"]))
    sizes = [read[name] or 1 for name in ("dp_size", "tp_size", "cp_size", "pp_size")]
    if sizes[0] * sizes[1] * sizes[2] * sizes[3] != case.devices:
        return f"sizes {sizes} are not {case.devices} devices"
    _, head = parameters(penstock, given)
    policy = read["strategy_config"].mp_policy
    wanted = torch.float32 if head["training"].get("precision", "fp32") == "fp32" else torch.bfloat16
    if policy.param_dtype != wanted:
        return f"computes in {policy.param_dtype}"
    if read["pp_enabled"]:
        count = recipe["step_scheduler"]["local_batch_size"] // read["pipeline_config"].pp_microbatch_size
        if count < read["pp_size"]:
            return f"{count} micro-batches on {read['pp_size']} ranks"
    return ""


def deepspeed(penstock, case, plan, text, given, folder):
    from deepspeed.runtime import config
    values = json.loads(text)
    replicas = case.devices // values["pipeline"]["stages"]
    config.dist = types.SimpleNamespace(get_rank=lambda: 0, get_world_size=lambda: replicas)
    with contextlib.redirect_stdout(io.StringIO()):
        read = config.DeepSpeedConfig(values)
    if read.train_batch_size != values["train_batch_size"] or read.zero_optimization_stage != values["zero_optimization"]["stage"]:
        return "read otherwise"
    bf16 = values["bf16"]["enabled"]
    if read.bfloat16_config.enabled != bf16 or (bf16 and not read.bfloat16_config.immediate_grad_update):
        return "numbers read otherwise"
    return ""


def accelerate(penstock, case, plan, text, given, folder):
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.parallelism_config import ParallelismConfig
    path = pathlib.Path(folder, "accelerate.yaml")
    path.write_text(text)
    read = load_config_from_file(str(path))
    prefix = "parallelism_config_"
    sizes = {key.removeprefix(prefix): value for key, value in read.parallelism_config.items() if key.endswith("_size")}
    sizes = sizes or {"dp_replicate_size": case.devices, "dp_shard_size": 1, "cp_size": 1}  # no section: replicas
    ParallelismConfig(**sizes)
    if math.prod(sizes.values()) != case.devices or read.num_processes != case.devices:
        return f"sizes {sizes} are not {case.devices} devices"
    strategy = read.parallelism_config.get(prefix + "cp_comm_strategy", "allgather")
    if (strategy not in ("allgather", "alltoall")) or (sizes["cp_size"] > 1 and read.distributed_type != "FSDP"):
        return f"context groups by {strategy}, {read.distributed_type}"
    if (read.distributed_type == "FSDP") != (sizes["dp_shard_size"] * sizes["cp_size"] > 1):
        return f"{read.distributed_type} for {sizes}"
    _, head = parameters(penstock, given)
    if read.mixed_precision != ("no" if head["training"].get("precision", "fp32") == "fp32" else "bf16"):
        return f"computes in {read.mixed_precision}"
    each, steps = map(int, re.search(r"batch_size=(\d+), gradient_accumulation_steps=(\d+)", text).groups())
    batch = each * steps * sizes["dp_replicate_size"] * sizes["dp_shard_size"]
    return "" if batch == head["training"]["mini_batch"] else f"{batch} samples"


CHECKS = {"torchtitan": titan, "automodel": automodel, "deepspeed": deepspeed, "accelerate": accelerate}


def main(penstock, count, only):
    tally, wrong = {}, 0
    for seed in range(count):
        case = cases.run(seed)
        with tempfile.TemporaryDirectory() as folder:
            plan, why = cases.imported(penstock, case, folder)
            for name, check in CHECKS.items():
                if only and name not in only:
                    continue
                kind, what = "not read", why
                if plan:
                    text, given, what = cases.exported(penstock, plan, name)
                    kind = "refused"
                    if text:
                        try:
                            what = check(penstock, case, plan, text, given, folder)
                        except Exception as error:  # noqa: BLE001: whatever the package raises is the answer
                            what = f"{type(error).__name__}: {str(error)[:300]}"
                        kind = "wrong" if what else "accepted"
                tally[name, kind] = tally.get((name, kind), 0) + 1
                wrong += kind == "wrong"
                if kind == "wrong" and tally[name, kind] <= 3:
                    print(f"{name} {seed}: {what}", flush=True)
    for (name, kind), number in sorted(tally.items()):
        print(f"{name:<12} {kind:<10} {number:>5}")
    if not any(kind == "accepted" for _, kind in tally):
        print("nothing was accepted")
        return 1
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60, sys.argv[3:]) else 0)
