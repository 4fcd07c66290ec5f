"""`penstock import hf CONFIG --through torch`: a Hugging Face config becomes a model file through transformers and torch.

transformers builds the class that the config names on the device "meta", so that weights need no memory. Nothing is
downloaded, and no code that comes with a config is run. Equal layers are exported twice and written down as often as
the model has them (layers.py).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")

import torch  # noqa: E402
import transformers  # noqa: E402

from .capture import capture  # noqa: E402
from .groups import Grouping, gather  # noqa: E402
from .layers import Stack, find_stack, skipped  # noqa: E402
from .model import Model  # noqa: E402
from .torch_import import model_of  # noqa: E402

_USUAL_TOKENS = 4096
_MOST_TOKENS = 1 << 20
# Keys on how a program runs the model; they do not change its operators.
_HOW = (
    ("auto_map", "quantization_config", "dtype", "torch_dtype")
    + ("attn_implementation", "_attn_implementation", "_attn_implementation_internal")
    + ("experts_implementation", "_experts_implementation", "_experts_implementation_internal")
)


class Refused(ValueError):
    """A config that cannot be read, with the reason and what to do."""


@dataclass(frozen=True)
class Built:
    """A module of transformers on the device "meta", in evaluation mode."""

    module: torch.nn.Module
    config: Any
    tokens: int  #: of a sample

    @property
    def inputs(self) -> dict[str, torch.Tensor]:
        return {"input_ids": torch.zeros(1, self.tokens, dtype=torch.long, device="meta")}

    @property
    def parameters(self) -> int:
        """Tied ones count once."""
        return sum(p.numel() for p in self.module.parameters())


def build(path: str | Path, tokens: int | None = None) -> Built:
    """The causal language model that a config.json names. `tokens`: default the config's positions, at most 4096.

    Raises Refused.
    """
    config, dtype = _config(Path(path))
    kind = _class_of(config)
    text = config.get_text_config(decoder=True)
    config.use_cache = text.use_cache = False
    try:
        with torch.device("meta"):
            module = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)
    except Exception as error:
        raise Refused(f"transformers cannot build {kind}: {_first_line(error)}") from error
    for parameter in module.parameters():  # those that no gradient moves, as biases of a choice, count too
        parameter.requires_grad_(parameter.is_floating_point())
    positions = getattr(text, "max_position_embeddings", None) or _USUAL_TOKENS
    return Built(module.eval(), text, tokens or min(positions, _USUAL_TOKENS))


def _config(path: Path) -> tuple[Any, torch.dtype]:
    """The config, and the numbers that a training keeps: those that the file names, else bfloat16."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"), object_hook=_special_float)
    except OSError as error:
        raise Refused(error.strerror or str(error)) from error
    except ValueError as error:
        raise Refused(f"no JSON: {error}") from error
    if not isinstance(given, dict) or not isinstance(given.get("model_type"), str):
        raise Refused("`model_type` is missing: expected the config.json of a model of Hugging Face")
    kind = given.pop("model_type")
    if kind not in transformers.CONFIG_MAPPING:
        raise Refused(
            f"`model_type`: transformers {transformers.__version__} has no '{kind}'; install a release that has it "
            "(code that comes with a model is never run)"
        )
    dtype = _dtype(given.get("torch_dtype") or given.get("dtype") or "bfloat16")
    given = {key: value for key, value in given.items() if key not in _HOW}
    try:
        return transformers.AutoConfig.for_model(kind, **given), dtype
    except Exception as error:
        raise Refused(f"transformers refuses the config: {_first_line(error)}") from error


def _dtype(name: Any) -> torch.dtype:
    known = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32, "auto": torch.bfloat16}
    found = known.get(str(name).removeprefix("torch."))
    if found is None:
        raise Refused(f"`dtype`: '{name}' is no type that training keeps weights in: expected {', '.join(list(known)[:3])}")
    return found


def _special_float(entry: dict[str, Any]) -> Any:
    """transformers writes infinity as {"__float__": "Infinity"}."""
    return float(entry["__float__"]) if list(entry) == ["__float__"] else entry


def _class_of(config: Any) -> str:
    """The class that AutoModelForCausalLM takes. Raises Refused where the config names another."""
    mapping = transformers.AutoModelForCausalLM._model_mapping
    if type(config) not in mapping:
        raise Refused(f"`model_type`: transformers has no causal language model for '{config.model_type}'")
    found = mapping[type(config)]
    kinds = [each.__name__ for each in (found if isinstance(found, (list, tuple)) else [found])]
    named = config.architectures or kinds
    if named[0] not in kinds:
        raise Refused(
            f"`architectures`: '{named[0]}' is not the causal language model of this type, {kinds[0]}; "
            "name that one or leave the key out to read it instead"
        )
    return named[0]


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2])[:300] or type(error).__name__


def read(built: Built, name: str) -> Model:
    """The model of a module. Raises Refused where torch cannot export it or a part of it is not understood."""
    stack = find_stack(built.module, built.config)
    if stack:
        try:
            return _read(built, name, stack)
        except Refused:
            raise
        except Exception as error:  # layers that lean on each other: they are exported one by one
            logging.getLogger(__name__).debug("layers of %s are not repeated: %s", stack.path, error)
    try:
        return _read(built, name, None)
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"torch.export cannot follow {type(built.module).__name__}: {_first_line(error)}") from error


def _read(built: Built, name: str, stack: Stack | None) -> Model:
    if stack:
        with skipped(built.module, stack):
            captured = capture(built.module, built.inputs)
    else:
        captured = capture(built.module, built.inputs)
    grouping = gather(captured, whole=True)
    if grouping.doubts:
        raise Refused(grouping.doubts[0])
    model = model_of(captured, grouping, name, stack=stack, split_ties=True)
    if model.total("parameters") != built.parameters:
        raise Refused(_unreached(built, grouping, model))
    return model


def _unreached(built: Built, grouping: Grouping, model: Model) -> str:
    read_ids = {id(grouping.tensors.parameter[x]) for group in grouping.groups for x in group.weights}
    left = [name for name, p in built.module.named_parameters() if id(p) not in read_ids]
    missing = built.parameters - model.total("parameters")
    return (
        f"tokens do not reach {missing:,} of the {built.parameters:,} parameters of {type(built.module).__name__}, "
        f"for instance {left[0] if left else 'a tied one'}: a part for other inputs cannot be read"
    )


def _name_for(path: Path) -> str:
    """ "Qwen3-32B" of Qwen3-32B.json and of Qwen3-32B/config.json."""
    whole = path.resolve()
    return whole.parent.name if whole.stem == "config" else whole.stem


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="penstock import hf --through torch", description=__doc__)
    parser.add_argument("file", type=Path, help="the config")
    parser.add_argument("--tokens", type=int, help="tokens of a sample; default: the config's positions, at most 4096")
    parser.add_argument("-o", "--output", type=Path, help="model file, .json or .yaml; default: print")
    asked = parser.parse_args(given)
    if asked.tokens is not None and not 1 <= asked.tokens <= _MOST_TOKENS:
        parser.error(f"--tokens: {asked.tokens} is not in 1 to {_MOST_TOKENS}")
    return asked


def main(given: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 11 for a config that is refused."""
    asked = _arguments(given)
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    try:
        model = read(build(asked.file, asked.tokens), _name_for(asked.file))
    except Refused as why:
        print(f"penstock: {asked.file}: {why}", file=sys.stderr)
        return 11
    for note in model.notes:
        print(note, file=sys.stderr)
    if asked.output is None:
        sys.stdout.write(model.text())
        return 0
    asked.output.write_text(model.text(), encoding="utf-8")
    print(f"{asked.output}: {len(model.operators)} operators, {model.total('parameters')} parameters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
