"""Modules read by torch.export against the zoo: equal operators, and each difference by its sum."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", minversion="2.15")

from penstock.torch import from_torch  # noqa: E402

SIZES = ("forward_flops", "input_gradient_flops", "weight_gradient_flops", "parameters", "output_bytes", "kept_bytes")


def figures(op: dict) -> tuple:
    """Everything but names."""
    sizes = tuple(int(op.get(size, 0)) for size in ("gathered_parameters", *SIZES))
    return (op["kind"], sorted(op.get("shape", {}).items()), *sizes)


def read(module, inputs) -> list[dict]:
    return [op.to_dict() for op in from_torch(module.eval(), inputs).operators]


def total(operators: list[dict], size: str) -> int:
    return sum(op.get(size, 0) for op in operators)


def edges(operators: list[dict]) -> list[list[int]]:
    """Operands by the numbers of their operators."""
    number = {op["name"]: i for i, op in enumerate(operators)}
    return [[number[x] for x in op.get("inputs", [])] for op in operators]


@pytest.mark.parametrize("name", ["resnet50", "vgg16"])
def test_networks_of_torchvision_equal_the_zoos(name, zoo):
    """Equal operators in the same order: kinds, extents, FLOPs, parameters, bytes; equal edges."""
    torchvision = pytest.importorskip("torchvision")
    with torch.device("meta"):
        module, image = getattr(torchvision.models, name)(), torch.empty(3, 3, 224, 224)
    ours, theirs = read(module, image), zoo(name)
    assert [figures(op) for op in ours] == [figures(op) for op in theirs]
    assert edges(ours) == edges(theirs)


def bert(attention: str, sequence: int = 128):
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(num_hidden_layers=2, attn_implementation=attention)
    with torch.device("meta"):
        module = transformers.BertModel(config)
        inputs = {
            name: torch.zeros(2, sequence, dtype=torch.long) for name in ("input_ids", "token_type_ids", "position_ids")
        }
    return module, inputs


def test_bert_with_flash_attention_equals_the_zoos(zoo):
    """The zoo adds three embeddings in one operator, transformers two and then the third: (3 - 1) n = n + n FLOPs."""
    ours, theirs = read(*bert("sdpa")), zoo("bert", layers=2, sequence=128, attention="flash")
    for size in SIZES[:4] + SIZES[5:]:
        assert total(ours, size) == total(theirs, size), size
    sums = [op for op in ours if op["name"].startswith("embeddings.add")]
    assert [op["shape"]["terms"] for op in sums] == [2, 2] and len(ours) == len(theirs) + 1
    rest = [figures(op) for op in ours if op not in sums]
    assert sorted(rest) == sorted(figures(op) for op in theirs if op["name"] != "embedding.sum")


def test_bert_by_single_kernels_has_a_scale_and_a_mask_more(zoo):
    """transformers multiplies scores by 1 / sqrt(64) and adds a mask of zeros, kernels that the zoo's split attention leaves out.
    They are per layer 12 x 128 x 128 numbers, one FLOP each, and one for the gradient of the scale. Nothing is saved for them.
    The zoo is right about what must be computed, ours about what torch runs."""
    ours, theirs = read(*bert("eager")), zoo("bert", layers=2, sequence=128, attention="split")
    scores = 12 * 128 * 128
    scales = [op for op in ours if op["kind"] == "elementwise" and op["shape"]["terms"] == 1]
    masks = [op for op in scales if op["name"].split("_")[0].endswith("add")]
    assert len(scales) - len(masks) == 2 and len(masks) in (0, 2)
    assert total(ours, "forward_flops") - total(theirs, "forward_flops") == len(scales) * scores
    assert total(ours, "input_gradient_flops") - total(theirs, "input_gradient_flops") == 2 * scores
    for size in ("weight_gradient_flops", "parameters", "kept_bytes"):
        assert total(ours, size) == total(theirs, size), size


def test_constant_positions_are_inputs_as_in_the_zoo(zoo):
    """With only the tokens, positions and segments are constants of the module; the graph is the same."""
    module, inputs = bert("sdpa")
    ours = read(module, {"input_ids": inputs["input_ids"]})
    theirs = zoo("bert", layers=2, sequence=128, attention="flash")
    for size in SIZES:
        if size != "output_bytes":
            assert total(ours, size) == total(theirs, size), size
    (positions,) = [op for op in ours if op["name"] == "embeddings.position_embeddings.input"]
    assert positions["kept_bytes"] == 128 * 8


def llama(dtype=None, **sizes):
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(use_cache=False, **sizes)
    with torch.device("meta"):
        module = transformers.LlamaForCausalLM(config)
        tokens = torch.zeros(2, 256, dtype=torch.long)
    return module.to(dtype), {"input_ids": tokens}


LLAMAS = {
    "tiny": (64, 4, 2, 160, 1000),
    "block of Llama 3 8B": (4096, 32, 8, 14336, 128256),
}


@pytest.mark.parametrize("name", LLAMAS)
@pytest.mark.parametrize("tied", [False, True])
def test_llama_equals_the_zoos(name, tied, zoo):
    """Gate and up projection are two operators, the zoo's one is as wide as both: equal in every sum."""
    hidden, heads, kv_heads, width, vocabulary = LLAMAS[name]
    module, inputs = llama(
        num_hidden_layers=1,
        hidden_size=hidden,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        intermediate_size=width,
        vocab_size=vocabulary,
        tie_word_embeddings=tied,
    )
    ours = read(module, inputs)
    parameters = dict(hidden=hidden, heads=heads, kv_heads=kv_heads, feed_forward=width, vocabulary=vocabulary)
    theirs = zoo("llama", layers=1, sequence=256, tied_head="yes" if tied else "no", **parameters)
    for size in SIZES:
        assert total(ours, size) == total(theirs, size), size
    rest = [figures(op) for op in ours if not op["name"].endswith(("gate_proj", "up_proj"))]
    assert sorted(rest) == sorted(figures(op) for op in theirs if "gate_up" not in op["name"])
    assert ours[-1].get("parameters_of") == ("model.embed_tokens" if tied else None)


def test_attention_has_the_zoos_extents(zoo):
    """Grouped heads, rotary positions, one flash kernel; in bf16 two bytes a number."""
    module, inputs = llama(torch.bfloat16, num_hidden_layers=1, hidden_size=64, num_attention_heads=4,
                           num_key_value_heads=2, intermediate_size=160, vocab_size=100)  # fmt: skip
    ours = read(module, inputs)
    theirs = zoo("llama", layers=1, sequence=256, hidden=64, heads=4, kv_heads=2, feed_forward=160, vocabulary=100,
                 element_bytes=2)  # fmt: skip
    (mine,), (other,) = ([op for op in ops if op["kind"] == "attention"] for ops in (ours, theirs))
    assert figures(mine) == figures(other)
    assert mine["shape"]["kv_heads"] == 2 and mine["shape"]["rotary"] == 1


def test_penstock_reads_what_was_written(penstock, tmp_path):
    module, inputs = bert("sdpa")
    model = from_torch(module.eval(), inputs)
    path = model.write(tmp_path / "bert.json")
    shown = json.loads(penstock("model", path, "--json"))
    assert "BertModel" in json.dumps(shown)
    plan = penstock("plan", "--model", path, "--cluster", "8xH100", "--mini-batch", 8, "--devices", 2)
    assert "stage" in plan.lower()


class CausalAttention(torch.nn.Module):
    """Two heads of eight, with the mask of torch's own kernel."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = (torch.nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        heads = [layer(x).unflatten(-1, (2, 8)).transpose(1, 2) for layer in (self.query, self.key, self.value)]
        context = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        return self.output(context.transpose(1, 2).flatten(2))


def test_the_kernels_own_mask_is_causal():
    ours = read(CausalAttention(), {"x": torch.zeros(2, 4, 16)})
    (attention,) = (op for op in ours if op["kind"] == "attention")
    assert attention["shape"]["causal"] == 1 and attention["shape"]["flash"] == 1
