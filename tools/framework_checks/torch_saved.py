"""Bytes that an eager layer saves for the backward pass, compared with torch's own saved-tensor hooks.

Decoders of transformers run forward on a CPU in bf16 with torch's attention kernel. Every tensor that autograd saves is
counted once per storage, without weights and buffers. The difference of three and two layers is what a layer saves.
Penstock plans the same config on one GPU with `--framework accelerate`; the difference of its activations is compared.

Sizes are equal to the byte for decoders of Llama's form. GPT-NeoX of transformers keeps its packed queries, keys and
values beside the rotated ones, which Penstock's fused rotation does not.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")

import torch  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM  # noqa: E402
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES  # noqa: E402

TOKENS, HIDDEN = 64, 256
DENSE = {"hidden_size": HIDDEN, "intermediate_size": 704, "num_attention_heads": 8, "vocab_size": 1000}
CASES = [
    ("llama", {**DENSE, "num_key_value_heads": 8}),
    ("llama", {**DENSE, "num_key_value_heads": 2}),
    ("llama", {**DENSE, "num_key_value_heads": 1, "tie_word_embeddings": True}),
    ("mistral", {**DENSE, "num_key_value_heads": 2, "sliding_window": None}),
    ("qwen2", {**DENSE, "num_key_value_heads": 2}),
    ("qwen2", {**DENSE, "num_key_value_heads": 8, "intermediate_size": 512}),
    ("qwen3", {**DENSE, "num_key_value_heads": 2, "head_dim": 32}),
    ("qwen3", {**DENSE, "num_key_value_heads": 4, "head_dim": 64}),
    ("gpt_neox", {**DENSE, "intermediate_size": 1024}),
]
# Bytes per token and hidden unit that a family's layer saves beyond what Penstock counts, and why.
BEYOND = {"gpt_neox": 4}  # rotated queries and keys are copies of the packed ones


def config_of(family, sizes, layers):
    config = AutoConfig.for_model(family, **sizes, num_hidden_layers=layers)
    config.use_cache = False
    return config


def saved_by_torch(config):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa").train()
    owned = {t.untyped_storage().data_ptr() for t in [*model.parameters(), *model.buffers()]}
    held, sizes = [], {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in owned:
            sizes[storage.data_ptr()] = storage.nbytes()
            held.append(tensor)  # so that no storage takes another's place
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        getattr(model, model.base_model_prefix)(torch.randint(0, config.vocab_size, (1, TOKENS)))
    return sum(sizes.values())


def saved_by_penstock(penstock, config, folder):
    config.save_pretrained(folder)
    file = pathlib.Path(folder, "config.json")
    stated = json.loads(file.read_text()) | {"architectures": [MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[config.model_type]], "dtype": "bfloat16"}
    file.write_text(json.dumps(stated))
    command = [penstock, "plan", "--model", file, "-p", f"sequence={TOKENS}", "--gpus", "1xH100", "--framework", "accelerate",
               "--mini-batch", "1", "--planner", "given", "--json", "-o", pathlib.Path(folder, "plan.yaml")]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(answer)["stages"][0]["memory_bytes"]["activations"]


def main():
    penstock, wrong = pathlib.Path(sys.argv[1]).resolve(), 0
    print(f"{'family':10} {'heads':>5} {'key heads':>9} {'torch, B per token and hidden unit':>36} {'penstock':>9}")
    for family, sizes in CASES:
        real, ours = [], []
        for layers in (2, 3):
            config = config_of(family, sizes, layers)
            real.append(saved_by_torch(config))
            with tempfile.TemporaryDirectory() as folder:
                ours.append(saved_by_penstock(penstock, config, folder))
        torch_bytes, penstock_bytes = real[1] - real[0], ours[1] - ours[0]
        beyond = BEYOND.get(family, 0) * TOKENS * HIDDEN
        equal = torch_bytes == penstock_bytes + beyond
        wrong += not equal
        each = TOKENS * HIDDEN
        print(f"{family:10} {sizes['num_attention_heads']:5} {sizes.get('num_key_value_heads', sizes['num_attention_heads']):9} "
              f"{torch_bytes / each:36.4f} {penstock_bytes / each:9.4f}{'' if not beyond else '  as documented'}{'' if equal else '  DIFFERENT'}")
    print(f"{len(CASES) - wrong} of {len(CASES)} layers save the bytes that Penstock counts")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
