"""Exports and imports of Megatron-LM's arguments, held against its own parser, validation, config and layer counts."""
import contextlib
import io
import os
import shlex
import sys
import tempfile
import types
import warnings

warnings.simplefilter("ignore")
os.environ.update(CUDA_DEVICE_MAX_CONNECTIONS="1", RANK="0", LOCAL_RANK="0")

import torch  # noqa: E402

# Validation needs a device, which a CPU machine does not have.
torch.cuda.get_device_capability = lambda *_, **__: (9, 0)
torch.cuda.get_device_properties = lambda *_, **__: types.SimpleNamespace(major=9, minor=0, total_memory=80 << 30)
torch.cuda.device_count = lambda: 8

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    from megatron.core.transformer.enums import LayerType
    from megatron.core.transformer.transformer_block import get_num_layers_to_build
    from megatron.core.transformer.transformer_layer import get_transformer_layer_offset
    from megatron.training import arguments
    try:
        from megatron.training.argument_utils import core_transformer_config_from_args
    except ImportError:
        from megatron.training.arguments import core_transformer_config_from_args

import cases  # noqa: E402

OTHERS = "--tokenizer-type NullTokenizer --lr 1e-4 --train-iters 10 --mock-data --transformer-impl local --no-rope-fusion".split()


def parsed(text, world):
    """Megatron-LM's arguments and config, or its refusal as an exception."""
    words = shlex.split("\n".join(line for line in text.splitlines() if not line.startswith("#")))
    os.environ["WORLD_SIZE"] = str(world)
    before, sys.argv = sys.argv, ["pretrain_gpt.py", *words, *OTHERS]
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            args = arguments.parse_args(None, False)
            arguments.validate_args(args, {})
            return args, core_transformer_config_from_args(args)
    except SystemExit as error:
        raise ValueError(f"exit {error.code}: {out.getvalue()[-200:]}") from None
    finally:
        sys.argv = before


def layers_by_megatron(config, args):
    """[stage] as cases.layers_of_stages: layers that Megatron-LM builds on each rank and chunk."""
    ranks, chunks = args.pipeline_model_parallel_size, args.virtual_pipeline_model_parallel_size or 1
    layout = config.pipeline_model_parallel_layout
    out = []
    for stage in range(ranks * chunks):
        rank, chunk = stage % ranks, stage // ranks
        where = dict(vp_stage=chunk if chunks > 1 else None, pp_rank=rank)
        if layout is not None:
            kinds = layout.layout[rank][chunk]
            count, first = kinds.count(LayerType.decoder), sum(len(layers) for _, layers, _ in out)
            ends = LayerType.embedding in kinds, LayerType.loss in kinds
        else:
            count = get_num_layers_to_build(config, **where)
            first = get_transformer_layer_offset(config, **where)
            ends = stage == 0, stage == ranks * chunks - 1
        out.append((ends[0], list(range(first, first + count)), ends[1]))
    return out


def group_fault(args, config):
    """The conditions of forward_backward_pipelining_with_interleaving, which starts only on GPUs."""
    ranks = args.pipeline_model_parallel_size
    count = args.global_batch_size // (args.micro_batch_size * args.data_parallel_size)
    if not args.virtual_pipeline_model_parallel_size:
        return ""
    group = config.microbatch_group_size_per_vp_stage
    if not ranks <= group <= count or 0 < count % group < ranks:
        return f"{count} micro-batches in groups of {group} on {ranks} ranks"
    return ""


def check(penstock, case, folder):
    """("refused", why), ("equal", "") or ("wrong", what)."""
    plan, why = cases.imported(penstock, case, folder)
    if not plan:
        try:
            args, config = parsed(case.text, case.devices)
        except Exception:  # noqa: BLE001: both refuse
            return "refused by both", why
        return ("refused by both" if group_fault(args, config) else "refused by Penstock"), why
    stages, _ = cases.layers_of_stages(plan)
    try:
        given, given_config = parsed(case.text, case.devices)
    except Exception as error:  # noqa: BLE001
        return "wrong", f"Megatron-LM refuses what Penstock reads: {type(error).__name__} {error}"
    if layers_by_megatron(given_config, given) != stages:
        return "wrong", f"import: {stages} where Megatron-LM has {layers_by_megatron(given_config, given)}"
    text, _, why = cases.exported(penstock, plan, "megatron")
    if not text:
        return "wrong", "not exported: " + why
    try:
        args, config = parsed(text, case.devices)
    except Exception as error:  # noqa: BLE001
        return "wrong", f"{type(error).__name__} {error}"
    for name in ("data_parallel_size", "tensor_model_parallel_size", "context_parallel_size", "expert_model_parallel_size",
                 "global_batch_size", "micro_batch_size", "hidden_size", "ffn_hidden_size", "num_query_groups", "kv_channels",
                 "num_experts", "moe_ffn_hidden_size", "moe_layer_freq", "kv_lora_rank", "bf16", "fp16", "sequence_parallel",
                 "recompute_granularity", "use_distributed_optimizer", "untie_embeddings_and_output_weights", "cp_comm_type"):
        mine, theirs = getattr(args, name, None), getattr(given, name, None)
        if name == "num_query_groups":
            mine, theirs = config.num_query_groups, given_config.num_query_groups
        if name == "ffn_hidden_size" and given.num_experts and given_config.moe_layer_freq == 1:
            continue  # no layer is dense
        if name == "moe_layer_freq" and mine != theirs:
            mine, theirs = config.moe_layer_freq, given_config.moe_layer_freq
        if name == "sequence_parallel" and given.tensor_model_parallel_size == 1:
            continue
        if name == "use_distributed_optimizer" and given.data_parallel_size * given.context_parallel_size == 1:
            continue
        if name == "cp_comm_type" and given.context_parallel_size == 1:
            continue
        if mine != theirs:
            return "wrong", f"{name}: {mine} where the run has {theirs}"
    if layers_by_megatron(config, args) != stages:
        return "wrong", f"export: {layers_by_megatron(config, args)} where the plan has {stages}"
    if fault := group_fault(args, config):
        return "wrong", fault
    return "equal", ""


def main(penstock, count):
    tally, wrong = {}, 0
    for family in ("llama", "mixtral", "deepseek"):
        for seed in range(count):
            with tempfile.TemporaryDirectory() as folder:
                kind, what = check(penstock, cases.run(seed, family), folder)
            tally[family, kind] = tally.get((family, kind), 0) + 1
            if kind in ("wrong", "refused by Penstock") and tally[family, kind] <= 4:
                print(f"{family} {seed}: {kind}: {what}", flush=True)
            wrong += kind == "wrong"
    for (family, kind), number in sorted(tally.items()):
        print(f"{family:<10} {kind:<20} {number:>5}")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100) else 0)
