"""Configs of Hugging Face read through transformers: parameters, FLOPs as torch counts them, layers, masks, refusals.

FLOPs are compared with torch's own counter over a real forward pass, in which transformers' loop gives each expert the
rows that chose it.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", minversion="2.15")
transformers = pytest.importorskip("transformers", minversion="5.24")
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from penstock.torch import hf  # noqa: E402
from penstock.torch.masks import Mask, mask_of  # noqa: E402

DECODER = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
}
LATENT = {"q_lora_rank": 12, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6}
CONFIGS = {
    "llama": DECODER,
    "gemma2": DECODER | {"sliding_window": 8},
    "qwen3_moe": DECODER | {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 24},
    "mixtral": DECODER | {"num_local_experts": 4, "num_experts_per_tok": 2},
    "gpt_oss": DECODER | {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 8},
    "deepseek_v3": DECODER
    | LATENT
    | {"num_key_value_heads": 4, "n_routed_experts": 8, "n_group": 2, "topk_group": 1, "num_experts_per_tok": 2}
    | {"moe_intermediate_size": 24, "first_k_dense_replace": 1, "head_dim": 4},
    "ernie4_5_moe": DECODER
    | {"moe_num_experts": 8, "moe_k": 2, "moe_intermediate_size": 24, "moe_layer_start_index": 1},
    "qwen3_next": DECODER
    | {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "shared_expert_intermediate_size": 24}
    | {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8}
    | {"num_hidden_layers": 8},
}
MIXTURES = {"qwen3_moe": (8, 24), "mixtral": (4, 48), "gpt_oss": (4, 48), "deepseek_v3": (8, 24), "qwen3_next": (8, 24)}
TOKENS = 16


@pytest.fixture(scope="session")
def config_file(tmp_path_factory):
    """Writes a config of CONFIGS, with changes, and returns its path."""

    def write(kind: str, **changes):
        path = tmp_path_factory.mktemp(kind) / "config.json"
        path.write_text(json.dumps({"model_type": kind} | CONFIGS.get(kind, {}) | changes))
        return path

    return write


@pytest.fixture(scope="session")
def model_of(config_file):
    """Built module and model of a kind; each is read once."""
    known = {}

    def get(kind: str):
        if kind not in known:
            built = hf.build(config_file(kind), TOKENS)
            known[kind] = built, hf.read(built, kind)
        return known[kind]

    return get


def products(model) -> int:
    return sum(op.forward_flops for op in model.operators if op.kind in ("linear", "matmul", "attention", "experts"))


def counted(kind: str) -> int:
    """FLOPs of a forward pass of one sample on the CPU, counted by torch."""
    config = transformers.AutoConfig.for_model(kind, **CONFIGS[kind], use_cache=False)
    module = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32, experts_implementation="eager")
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module.eval()(input_ids=torch.arange(TOKENS)[None] % 96)
    return counter.get_total_flops()


@pytest.mark.parametrize("kind", CONFIGS)
def test_parameters_are_those_of_the_class(kind, model_of):
    built, model = model_of(kind)
    assert model.total("parameters") == built.parameters > 0


@pytest.mark.parametrize("kind", [kind for kind in CONFIGS if kind != "qwen3_next"])
def test_flops_are_those_that_torch_counts(kind, model_of):
    _, model = model_of(kind)
    assert products(model) == counted(kind)
    assert not [op.name for op in model.operators if op.kind == "profiled"]


@pytest.mark.parametrize("kind", MIXTURES)
def test_experts_are_operators_behind_their_router(kind, model_of):
    """Two of the experts for each token: 3 x 2 x 16 x 2 x 32 x inner FLOPs in a layer."""
    _, model = model_of(kind)
    experts, inner = MIXTURES[kind]
    found = [op for op in model.operators if op.kind == "experts"]
    assert len(found) == CONFIGS[kind]["num_hidden_layers"] - CONFIGS[kind].get("first_k_dense_replace", 0)
    for op in found:
        assert [op.shape[key] for key in ("rows", "hidden", "inner", "experts", "chosen")] == [16, 32, inner, experts, 2]
        assert op.forward_flops == 3 * 2 * 16 * 2 * 32 * inner
        scores = model.operator(op.inputs[1])
        router = scores if scores.kind == "linear" else model.operator(scores.inputs[0])
        assert (router.kind, router.shape["out"], len(op.inputs)) == ("linear", experts, 2)


@pytest.mark.parametrize("kind", ["llama", "gpt_oss", "deepseek_v3"])
def test_repeated_layers_equal_exported_ones(kind, model_of):
    """The slow twin exports every layer."""
    built, model = model_of(kind)
    assert hf._read(built, kind, None).operators == model.operators


def test_a_bias_of_the_choice_belongs_to_the_scores(model_of):
    """Ernie 4.5: a number for each of 8 experts, which no gradient moves."""
    _, model = model_of("ernie4_5_moe")
    experts = next(op for op in model.operators if op.kind == "experts")
    assert model.operator(experts.inputs[1]).parameters == 8 and experts.parameters == 8 * 3 * 32 * 24


def test_masks_of_layers(model_of):
    """Gemma 2 and GPT-OSS alternate a window of 8 tokens and all before."""
    for kind in ("gemma2", "gpt_oss"):
        cores = [op.shape for op in model_of(kind)[1].operators if op.kind == "attention"]
        assert [x.get("reach", 0) for x in cores] == [8, 0] * 3
        assert [x.get("window", 0) for x in cores] == [1, 0] * 3 and [x.get("causal", 0) for x in cores] == [0, 1] * 3
        assert all(x["heads"] == 4 and x["kv_heads"] == 2 for x in cores)


def test_sinks_are_parameters_of_an_attention(model_of):
    """GPT-OSS: matrices 32 x 32 twice and 32 x 16 twice, their biases, and a sink for each of 4 heads."""
    attention = next(op for op in model_of("gpt_oss")[1].operators if op.kind == "attention")
    assert attention.parameters == 2 * 32 * 32 + 2 * 32 * 16 + 32 + 16 + 16 + 32 + 4


def test_latent_attention_has_the_zoos_extents(model_of):
    attention = next(op for op in model_of("deepseek_v3")[1].operators if op.kind == "attention")
    shape = attention.shape
    assert (shape["query_width"], shape["key_width"], shape["value_width"]) == (12, 16 + 4, 16)
    assert (shape["inner"], shape["value_head"], shape["rotary_width"]) == (4 * 12, 6, 4)


def test_pairs_decide_the_kind_of_a_mask():
    q, k = torch.arange(6)[:, None], torch.arange(6)[None, :]
    causal = k <= q
    assert mask_of(torch.ones(1, 1, 6, 6, dtype=torch.bool)) == Mask("none")
    assert mask_of(torch.where(causal, 0.0, torch.finfo().min)[None]) == Mask("causal")
    assert mask_of(causal & (q - k < 2)) == Mask("window", 2)
    assert mask_of(causal & (q // 3 == k // 3)) == Mask("blocks", 3)
    assert mask_of(causal | (k == 5)) == Mask("unknown")
    assert mask_of(torch.stack([causal, causal & (q - k < 2)])) == Mask("unknown")  # heads that differ


def refusal(path) -> str:
    with pytest.raises(hf.Refused) as caught:
        hf.read(hf.build(path, TOKENS), "x")
    return str(caught.value)


def test_what_is_not_understood_is_refused(config_file):
    assert "has no 'lama'" in refusal(config_file("lama"))
    assert "'LlamaForSequenceClassification' is not the causal language model of this type, LlamaForCausalLM" in refusal(
        config_file("llama", architectures=["LlamaForSequenceClassification"])
    )
    assert "no causal language model for 'vit'" in refusal(config_file("vit"))
    assert "transformers refuses the config" in refusal(config_file("llama", vocab_size="many"))


def test_code_that_comes_with_a_model_is_not_run(config_file):
    path = config_file("llama", auto_map={"AutoModelForCausalLM": "modeling.Model"}, num_hidden_layers=1)
    (path.parent / "modeling.py").write_text("raise SystemExit(99)")
    assert hf.read(hf.build(path, TOKENS), "x").total("parameters") > 0


def test_the_command_writes_a_model_that_the_program_divides(config_file, penstock, tmp_path):
    """Experts, tensors and tokens in two parts each."""
    path, out = config_file("qwen3_moe"), tmp_path / "model.yaml"
    command = [sys.executable, "-m", "penstock.torch.hf", str(path), "--tokens", "16", "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    plan = ["plan", "--model", out, "--cluster", "dgx_a100", "--devices", "4", "--mini-batch", "8", "--planner", "given"]
    for way in ("tensor_parallel=2", "context_parallel=2", "expert_parallel=2"):
        assert "samples/s" in penstock(*plan, "--option", way, "--option", "layers=3-3")


def test_numbers_are_those_of_the_config(config_file):
    """Two bytes by default."""
    sizes = {"float32": 4, "torch.bfloat16": 2, None: 2}
    for dtype, size in sizes.items():
        built = hf.build(config_file("llama", num_hidden_layers=1, dtype=dtype), TOKENS)
        assert {p.element_size() for p in built.module.parameters()} == {size}
    assert "'int8' is no type that training keeps weights in" in refusal(config_file("llama", dtype="int8"))


def test_the_command_refuses_with_exit_code_11(config_file):
    command = [sys.executable, "-m", "penstock.torch.hf", str(config_file("lama"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 11 and "config.json: `model_type`: transformers" in done.stderr
