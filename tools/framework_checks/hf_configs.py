"""Parameters of random Hugging Face configs, counted by transformers on the meta device and by `penstock import hf`.

Keys are dropped, set to null, or drawn; some files are saved by transformers first, others written by hand as of
transformers 4. A wrong count is a failure; a refusal by either side is not, and is counted.
"""
import concurrent.futures
import json
import logging
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
logging.disable(logging.CRITICAL)

import torch  # noqa: E402
from transformers import AutoConfig  # noqa: E402
from transformers.models.auto import modeling_auto  # noqa: E402
import transformers  # noqa: E402

DECODER = {
    "vocab_size": [256, 1000], "hidden_size": [64, 128], "num_hidden_layers": [1, 2, 3, 4], "num_attention_heads": [4, 8],
    "intermediate_size": [96, 256], "tie_word_embeddings": [True, False], "max_position_embeddings": [128, 4096],
    "rms_norm_eps": [1e-6], "attention_dropout": [0.0, 0.1],
}
GROUPED = {**DECODER, "num_key_value_heads": [1, 2, 4], "head_dim": [16, 32]}
EXPERTS = {"num_experts_per_tok": [1, 2], "router_aux_loss_coef": [0.01]}
QWEN_EXPERTS = {**GROUPED, **EXPERTS, "num_experts": [4, 8], "moe_intermediate_size": [32, 64], "norm_topk_prob": [True],
                "decoder_sparse_step": [1], "mlp_only_layers": [[]]}
LATENT = {
    **DECODER, **EXPERTS, "q_lora_rank": [24, 48], "kv_lora_rank": [16, 32], "qk_nope_head_dim": [16], "qk_rope_head_dim": [8, 16],
    "v_head_dim": [16, 24], "n_routed_experts": [8, 16], "n_shared_experts": [1, 2], "moe_intermediate_size": [32],
    "first_k_dense_replace": [0, 1], "num_key_value_heads": [4, 8], "routed_scaling_factor": [1.0, 2.5], "norm_topk_prob": [True],
}
del LATENT["router_aux_loss_coef"]
FAMILIES = {
    "llama": {**GROUPED, "attention_bias": [False], "mlp_bias": [False]},
    "mistral": {**GROUPED, "sliding_window": [4096, 128]},
    "qwen2": {**GROUPED, "use_sliding_window": [False], "sliding_window": [128], "max_window_layers": [2]},
    "qwen3": {**GROUPED, "attention_bias": [False], "use_sliding_window": [False]},
    "mixtral": {**GROUPED, **EXPERTS, "num_local_experts": [4, 8], "sliding_window": [4096]},
    "qwen2_moe": {**QWEN_EXPERTS, "shared_expert_intermediate_size": [64, 96], "qkv_bias": [True, False]},
    "qwen3_moe": QWEN_EXPERTS,
    "olmoe": {**GROUPED, **EXPERTS, "num_experts": [4, 8], "norm_topk_prob": [False]},
    "deepseek_v2": {**LATENT, "topk_method": ["greedy"], "n_group": [1], "topk_group": [1]},
    "deepseek_v3": {**LATENT, "n_group": [2], "topk_group": [1]},
    "gpt2": {"vocab_size": [256], "n_embd": [64, 128], "n_layer": [1, 2], "n_head": [4, 8], "n_inner": [96, 256],
             "n_positions": [64, 128], "tie_word_embeddings": [True, False]},
    "gpt_neox": {**{k: DECODER[k] for k in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                                            "intermediate_size", "max_position_embeddings", "tie_word_embeddings")},
                 "use_parallel_residual": [True, False], "rotary_pct": [0.25, 1.0]},
    "opt": {"vocab_size": [256], "hidden_size": [64, 128], "num_hidden_layers": [1, 2], "num_attention_heads": [4, 8],
            "ffn_dim": [96, 256], "max_position_embeddings": [64], "word_embed_proj_dim": [64, 128],
            "tie_word_embeddings": [True, False], "enable_bias": [True], "do_layer_norm_before": [True]},
    "bert": {"vocab_size": [256], "hidden_size": [64, 128], "num_hidden_layers": [1, 2], "num_attention_heads": [4, 8],
             "intermediate_size": [96, 256], "max_position_embeddings": [64], "type_vocab_size": [2, 3]},
    "vit": {"hidden_size": [64, 128], "num_hidden_layers": [1, 2], "num_attention_heads": [4, 8], "intermediate_size": [96, 256],
            "image_size": [32, 64], "patch_size": [8, 16], "num_labels": [2, 10], "qkv_bias": [True]},
}
# Keys of decoders whose rows are a table (src/frameworks/decoder_rows.cpp): small values, by the end of the key's name.
SMALL = {
    "hidden_size": [64, 128], "n_embd": [64, 128], "d_model": [64, 128], "vocab_size": [256, 1000],
    "num_hidden_layers": [2, 3, 4], "n_layer": [2, 3, 4], "num_layers": [2, 3, 4], "n_layers": [2, 3, 4],
    "num_attention_heads": [4, 8], "n_head": [4, 8], "num_heads": [4, 8], "attention_heads": [4, 8], "n_heads": [4, 8],
    "num_key_value_heads": [1, 2, 4], "num_kv_heads": [1, 2, 4], "head_dim": [16, 32], "v_head_dim": [16, 32],
    "qk_nope_head_dim": [16], "qk_rope_head_dim": [8, 16], "q_lora_rank": [16, 24], "kv_lora_rank": [16, 24],
    "intermediate_size": [96, 160], "intermediate_size_mlp": [96, 160], "moe_intermediate_size": [96, 160],
    "shared_intermediate_size": [0, 96], "shared_expert_intermediate_size": [96, 160], "ffn_dim": [96, 160],
    "n_inner": [96, 160], "ffn_hidden_size": [96, 160], "num_experts": [4, 8], "num_local_experts": [4, 8],
    "n_routed_experts": [4, 8], "moe_num_experts": [4, 8], "num_experts_per_tok": [1, 2], "moe_k": [1, 2], "moe_topk": [1, 2],
    "n_shared_experts": [0, 1, 2], "num_shared_experts": [0, 1, 2], "moe_num_shared_experts": [0, 1, 2],
    "first_k_dense_replace": [0, 1, 2], "moe_layer_start_index": [0, 1], "moe_layer_interval": [1, 2],
    "interleave_moe_layer_step": [1, 2], "max_position_embeddings": [128, 256], "n_positions": [128, 256],
    "max_seq_len": [128, 256], "sliding_window": [8, 32],
}
UNDRAWN = {"is_encoder_decoder", "is_decoder", "return_dict", "output_hidden_states", "output_attentions", "use_cache",
           "use_bidirectional_attention"}
CLASSES = {"bert": "BertModel", "vit": "ViTForImageClassification"}
# A model of the class's own size is too large to draw often: these stay.
KEPT = {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "n_embd", "n_layer", "n_head", "d_model",
        "num_layers", "num_heads", "n_layers", "n_heads", "attention_heads"}


def table_types(penstock):
    """Values of model_type that `import hf` reads beside FAMILIES."""
    text = subprocess.run([penstock, "import", "hf", "--help"], capture_output=True, text=True, check=True).stdout
    names = re.search(r"model_type that are read: (.*?)\. Other", " ".join(text.split())).group(1).split(", ")
    return [name for name in names if name not in FAMILIES and name in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES]


def draw_of_table(rng, family):
    """Keys of the class, each kept, left out, null or (a flag) turned around."""
    config = {"model_type": family, "pad_token_id": 0}
    for key, value in AutoConfig.for_model(family).to_dict().items():
        fate, small = rng.random(), rng.choice(SMALL.get(key, [value]))
        if key in KEPT or key in SMALL and fate < 0.7:
            config[key] = small
        elif isinstance(value, bool) and key not in UNDRAWN and fate < 0.35:
            config[key] = rng.random() < 0.5
        elif key in SMALL and fate < 0.76:
            config[key] = None
    return family, config, rng.random() < 0.3


def draw(seed, table):
    rng = random.Random(seed)
    if seed % 2:
        return draw_of_table(rng, table[seed // 2 % len(table)])
    family = sorted(FAMILIES)[seed // 2 % len(FAMILIES)]
    config = {"model_type": family}
    for key, values in FAMILIES[family].items():
        fate = rng.random()
        if key in KEPT or fate < 0.6:
            config[key] = rng.choice(values)
        elif fate < 0.64:
            config[key] = None
    return family, config, rng.random() < 0.3


def model_class(family):
    return getattr(transformers, CLASSES.get(family, modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(family)))


def counted(family, config):
    with torch.device("meta"):
        model = model_class(family)(config)
    seen = {id(p): p.numel() for p in model.parameters()}
    return sum(seen.values())


def one(penstock, seed, folder, table):
    family, given, saved = draw(seed, table)
    path = pathlib.Path(folder, f"{seed}.json")
    path.write_text(json.dumps(given))
    try:
        config = AutoConfig.for_model(**given)
        theirs = counted(family, config)
    except Exception as error:  # noqa: BLE001: a config that transformers refuses
        return family, "refused by transformers", f"{type(error).__name__} {str(error)[:100]}"
    if saved:
        config.architectures = [model_class(family).__name__]
        text = config.to_json_string()
        path.write_text(text)
    positions = min(64, given.get("max_position_embeddings") or given.get("n_positions") or 64)
    command = [penstock, "import", "hf", str(path), "-o", str(path.with_suffix(".yaml"))]
    if family != "vit":
        command += ["--tokens", str(positions)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return family, "refused by Penstock", re.sub(r"^.*json:\d+: ", "", done.stderr.strip())[:160]
    model = subprocess.run([penstock, "model", str(path.with_suffix(".yaml")), "--json"], capture_output=True, text=True, check=False)
    if model.returncode != 0:
        return family, "refused by Penstock", model.stderr.strip()[:160]
    ours = sum(each.get("parameters", 0) for each in json.loads(model.stdout)["operators"])
    if ours == theirs:
        return family, "equal", ""
    return family, "wrong", f"{ours} where transformers has {theirs}: {path.read_text() if not saved else given}"


def main(penstock, count):
    tally, reasons, wrong, table = {}, {}, 0, table_types(penstock)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for family, kind, what in pool.map(lambda seed: one(penstock, seed, folder, table), range(count)):
            tally[family, kind] = tally.get((family, kind), 0) + 1
            wrong += kind == "wrong"
            if kind == "wrong" and tally[family, kind] <= 2:
                print(f"{family}: {what}", flush=True)
            if kind != "equal":
                reasons[family, kind, what.split("{")[0]] = reasons.get((family, kind, what.split("{")[0]), 0) + 1
    kinds = ["equal", "refused by Penstock", "refused by transformers", "wrong"]
    print(f"{'family':<18}" + "".join(f"{kind:>26}" for kind in kinds))
    for family in sorted({*FAMILIES, *table}):
        print(f"{family:<18}" + "".join(f"{tally.get((family, kind), 0):>26}" for kind in kinds))
    for (family, kind, what), number in sorted(reasons.items()):
        if kind == "refused by Penstock":
            print(f"  {family}: {number} x {what}")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 700) else 0)
