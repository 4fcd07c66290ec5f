"""Names of operators: the path of the module that runs them, as in `named_modules()`."""

from __future__ import annotations

import os
import re

from torch import fx

from .patterns import Match
from .tensors import Tensors, packet
from .unique import UniqueNames


class Namer:
    """Gives every operator a name of its own, the same for every number of samples."""

    def __init__(self, tensors: Tensors):
        self._tensors = tensors
        self._names = UniqueNames()

    def name(self, match: Match, weights: list[fx.Node]) -> str:
        """Name by the layer whose parameters it has; else by the module and what it does."""
        return self._names.take(self._base(match, weights) or match.anchor.name)

    def name_beside(self, match: Match, word: str) -> str:
        """Name of a value that an operator reads and no module makes."""
        module, _ = module_of(match.anchor)
        return self._names.take(".".join(filter(None, (module, word))))

    def _base(self, match: Match, weights: list[fx.Node]) -> str:
        if match.anchor.op == "placeholder":
            return match.anchor.name
        module, leaf = module_of(match.anchor)
        owners = {self._owner(w, module) for w in weights}
        if len(owners) == 1 and match.work.kind != "elementwise":
            return owners.pop()
        if owners and match.work.kind == "attention":
            return common_path(owners) or "attention"
        return module if leaf and module else ".".join(filter(None, (module, _does(match))))

    def _owner(self, weight: fx.Node, module: str) -> str:
        """Path of the layer that has a parameter: of layers that share it the one that runs."""
        names = self._tensors.names[id(self._tensors.parameter[weight])]
        owners = [name.rpartition(".")[0] for name in names]
        return module if module in owners else owners[0]


def _does(match: Match) -> str:
    """Word for what a node does: the kind's, where it is more precise than torch's."""
    if match.work.shape.get("swiglu"):
        return "swiglu"
    return re.sub(r"\d+$", "", word_for(match.anchor))


def word_for(node: fx.Node) -> str:
    """Name that torch has for the operator of a node."""
    return str(getattr(packet(node), "__name__", node.name)).strip("_")


def module_of(node: fx.Node) -> tuple[str, bool]:
    """Path of the innermost module around a node, and whether it is one of torch.nn, which holds no others."""
    stack = node.meta.get("nn_module_stack") or {}
    if not stack:
        return "", False
    path, kind = list(stack.values())[-1]
    kind = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    leaf = ".activation." in kind or kind.startswith(("torch.nn.modules.pooling", "torch.nn.modules.dropout"))
    return _plain(path), leaf


def stack_of(node: fx.Node) -> list[tuple[str, str]]:
    """Modules around a node, outermost first: a word for the call, and the module's path."""
    stack = node.meta.get("nn_module_stack") or {}
    return [(path, _plain(path)) for path, _ in stack.values()]


def _plain(path: str) -> str:
    """Path as in `named_modules()`, for every call of the module."""
    return re.sub(r"@\d+$", "", re.sub(r"^L\['self'\]\.?", "", path))


def common_path(paths: set[str]) -> str:
    """`a.b` of `a.b.c` and `a.b.d`."""
    parts = [path.split(".") for path in paths]
    return ".".join(os.path.commonprefix(parts))
