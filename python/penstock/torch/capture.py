"""A module as a graph of aten operators, by torch.export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import fx
from torch.utils import _pytree as pytree

from .functional import inline_contexts, without_mutation

Examples: TypeAlias = torch.Tensor | Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True)
class Capture:
    """The graph of a module for inputs of a fixed number of samples."""

    module: torch.nn.Module  #: as it was given; its parameters are those of the graph
    graph: fx.GraphModule  #: placeholders, get_attr, aten functions, one output
    samples: int  #: of the example inputs
    inputs: tuple[str, ...]  #: names of the placeholders
    output: pytree.TreeSpec  #: how the module arranges what it returns

    def named(self, examples: Examples) -> dict[str, torch.Tensor]:
        """Inputs by the names of their placeholders."""
        args, kwargs = split(examples)
        return dict(zip(self.inputs, args)) | kwargs


def split(examples: Examples) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Example inputs as positional and named arguments: a tensor, a sequence or a mapping by name."""
    if isinstance(examples, torch.Tensor):
        return (examples,), {}
    if isinstance(examples, Mapping):
        return (), dict(examples)
    return tuple(examples), {}


def samples_of(examples: Examples) -> int:
    """Extent of the first axis of the first tensor. Raises ValueError where an input is no tensor, or none has axes."""
    args, kwargs = split(examples)
    for value in [*args, *kwargs.values()]:
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"example inputs are tensors, found a {type(value).__name__}")
    for value in [*args, *kwargs.values()]:
        if value.dim() > 0:
            return value.shape[0]
    raise ValueError("the example inputs hold no tensor whose first axis could count samples")


def capture(module: torch.nn.Module, examples: Examples) -> Capture:
    """Exports the module in the mode, training or evaluation, in which it is.

    Raises ValueError as `samples_of`, and torch's own errors where it cannot export.
    """
    samples = samples_of(examples)
    args, kwargs = split(examples)
    exported = torch.export.export(module, args, kwargs)
    graph = exported.module(check_guards=False)
    inline_contexts(graph)
    without_mutation(graph)
    names = tuple(node.name for node in graph.graph.nodes if node.op == "placeholder")
    return Capture(module, graph, samples, names, exported.call_spec.out_spec)
