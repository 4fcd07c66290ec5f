"""Kinds of tensors of a captured graph: input, parameter, constant or value, and their size per sample."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import torch
from torch import fx

from .capture import Capture

aten = torch.ops.aten

VIEWS = {
    getattr(aten, name)
    for name in (
        "view reshape _unsafe_view unflatten squeeze unsqueeze transpose permute t numpy_T mT contiguous clone alias detach to "
        "_to_copy type_as expand expand_as view_as movedim swapaxes lift_fresh_copy "
        "flatten select slice split split_with_sizes chunk unbind narrow"
    ).split()
}


def packet(node: fx.Node) -> Any:
    """The operator without its overload, or the function itself."""
    return getattr(node.target, "overloadpacket", node.target)


def is_view(node: fx.Node) -> bool:
    """True if its result shows numbers of its first argument, all or some; a copy or a cast counts as one."""
    if node.op != "call_function":
        return False
    if packet(node) in (aten.dropout, aten.feature_dropout, aten.alpha_dropout):
        return node.args[1] == 0 or not node.args[2]
    return packet(node) in VIEWS or node.target is operator.getitem


FRESH = {
    getattr(aten, name) for name in "empty empty_like new_empty zeros_like new_zeros ones_like full_like new_ones".split()
}


def values_read(node: fx.Node) -> list[fx.Node]:
    """Tensors whose numbers a node reads, without those that only lend it a shape or a type."""
    if packet(node) in FRESH:
        return []
    if is_view(node):
        return [x for x in node.args[:1] if isinstance(x, fx.Node)]
    return node.all_input_nodes


class Tensors:
    """Roles and sizes of the nodes of a captured graph."""

    def __init__(self, captured: Capture):
        self.samples = captured.samples
        self.parameter: dict[fx.Node, torch.nn.Parameter] = {}  #: that a node shows, if one
        self.names = parameter_names(captured.module)
        self._role: dict[fx.Node, str] = {}
        self._batched: set[fx.Node] = set()
        self._needs: set[fx.Node] = set()
        self._fed: set[fx.Node] = set()
        for node in captured.graph.graph.nodes:
            self._read(captured, node)

    def _read(self, captured: Capture, node: fx.Node) -> None:
        before = node.all_input_nodes
        self._role[node] = role = self._find_role(captured, node)
        if role == "input" or any(x in self._fed for x in before):
            self._fed.add(node)
        # A constant that was made for so many samples, such as repeated positions, counts once for each.
        may_count = role == "input" or (role == "constant" and node.op == "call_function")
        if may_count and self.shape(node)[:1] == (self.samples,):
            self._batched.add(node)
        if any(x in self._batched for x in before) and _numel(node) % self.samples == 0:
            self._batched.add(node)
        trained = any(x in self.parameter and self.parameter[x].requires_grad for x in before)
        if role == "value" and differentiable(node) and (trained or any(x in self._needs for x in before)):
            self._needs.add(node)

    def _find_role(self, captured: Capture, node: fx.Node) -> str:
        if node.op == "placeholder":
            return "input"
        if node.op == "get_attr":
            found = captured.graph
            for part in node.target.split("."):
                found = getattr(found, part)
            if not isinstance(found, torch.nn.Parameter):
                return "constant"
            self.parameter[node] = found
            return "parameter"
        roles = {self._role[x] for x in node.all_input_nodes}
        if roles <= {"constant"}:
            return "constant"
        if is_view(node) and roles <= {"constant", "parameter"} and node.args[0] in self.parameter:
            self.parameter[node] = self.parameter[node.args[0]]
            return "parameter"
        return "value"

    def role(self, node: fx.Node) -> str:
        """input, parameter (or a view of one), constant (of no input and no parameter), value."""
        return self._role[node]

    def computed(self, node: fx.Node) -> bool:
        """True if it depends on an input or holds what parameters were made into."""
        return self._role[node] in ("input", "value")

    def from_weights(self, node: fx.Node) -> bool:
        """True for a parameter, or what is made of parameters and constants only."""
        return node not in self._fed and self._role[node] != "constant"

    def needs(self, node: fx.Node) -> bool:
        """True if a gradient flows to it: something trainable comes before."""
        return node in self._needs

    def elements(self, node: fx.Node) -> int:
        """Numbers per sample; a tensor without samples, such as one of positions, counts once for each."""
        return _numel(node) // self.samples if node in self._batched else _numel(node)

    def bytes(self, node: fx.Node) -> int:
        """Per sample, of all its tensors where it makes several."""
        return self.elements(node) * self.number_bytes(node)

    def number_bytes(self, node: fx.Node) -> int:
        """Bytes of one of its numbers."""
        return _first(value_of(node)).element_size()

    def dtype(self, node: fx.Node) -> torch.dtype:
        return _first(value_of(node)).dtype

    def shape(self, node: fx.Node) -> tuple[int, ...]:
        """With the samples' axis, if it has one."""
        return tuple(_first(value_of(node)).shape)

    def width(self, node: fx.Node) -> int:
        return self.shape(node)[-1] if self.shape(node) else 1

    def source(self, node: fx.Node) -> fx.Node:
        """Behind views of as many numbers, what they show."""
        while self.shows_all(node):
            node = node.args[0]
        return node

    def shows_all(self, node: fx.Node) -> bool:
        """True if it is a view, other than a flattening, of all numbers of a computed tensor."""
        if not is_view(node) or not self.computed(node) or packet(node) is aten.flatten:
            return False
        return self.elements(node) == self.elements(node.args[0])


def value_of(node: fx.Node) -> Any:
    return node.meta.get("val")


def differentiable(node: fx.Node) -> bool:
    return any(x.is_floating_point() or x.is_complex() for x in _tensors(value_of(node)))


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def _first(value: Any) -> torch.Tensor:
    return next(_tensors(value), torch.zeros(()))


def _numel(node: fx.Node) -> int:
    return sum(math.prod(x.shape) for x in _tensors(value_of(node)))


def parameter_names(module: torch.nn.Module) -> dict[int, list[str]]:
    """Names of parameters by their identity; tied ones have several."""
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return names
