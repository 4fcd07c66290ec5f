"""Pairs of a query and a key that a mask leaves, found by computing the mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from .tensors import Tensors, packet

_MOST_PAIRS = 1 << 28  # of a mask that is computed: 16,384 tokens


@dataclass(frozen=True)
class Mask:
    """`kind`: none, causal, window, blocks (docs/formats/model.md); unknown where a graph does not fix the pairs."""

    kind: str
    reach: int = 0  #: tokens, of a window or a block

    def extents(self) -> dict[str, int]:
        known = {} if self.kind in ("none", "unknown") else {self.kind: 1}
        return known | ({"reach": self.reach} if self.reach else {})


class Masks:
    """Reads masks of a captured graph; each tensor is computed once, on the CPU."""

    def __init__(self, t: Tensors, root: torch.nn.Module):
        self._tensors, self._root = t, root
        self._known: dict[fx.Node, Mask] = {}

    def of(self, node: fx.Node) -> Mask:
        """Mask by a tensor of truth values, or of numbers that are added to scores."""
        if node not in self._known:
            value = self._value(node)
            self._known[node] = Mask("unknown") if value is None else mask_of(value)
        return self._known[node]

    def _value(self, node: fx.Node) -> torch.Tensor | None:
        if self._tensors.role(node) != "constant" or self._tensors.elements(node) > _MOST_PAIRS:
            return None
        value = _computed(self._root, node)
        return value if isinstance(value, torch.Tensor) and value.device.type == "cpu" else None


def mask_of(mask: torch.Tensor) -> Mask:
    """`mask`: [..., queries, keys]. All heads and samples must leave the same pairs; otherwise it is unknown."""
    if mask.dim() < 2:
        return Mask("unknown")
    allowed = mask if mask.dtype == torch.bool else mask > _lowest(mask) / 2
    allowed = allowed.reshape(-1, *allowed.shape[-2:])
    if not bool((allowed == allowed[:1]).all()):
        return Mask("unknown")
    return _pairs(allowed[0])


def _lowest(mask: torch.Tensor) -> float:
    return torch.finfo(mask.dtype).min if mask.is_floating_point() else torch.iinfo(mask.dtype).min


def _pairs(allowed: torch.Tensor) -> Mask:
    """The kind whose pairs are exactly these."""
    queries, keys = (torch.arange(n) for n in allowed.shape)
    before = keys[None, :] <= queries[:, None] + (len(keys) - len(queries))
    reach = int(allowed.sum(1).max())
    found = {
        Mask("none"): torch.ones_like(before),
        Mask("causal"): before,
        Mask("window", reach): before & (queries[:, None] - keys[None, :] < reach),
        Mask("blocks", reach): before & (queries[:, None] // max(1, reach) == keys[None, :] // max(1, reach)),
    }
    return next((mask for mask, pairs in found.items() if torch.equal(allowed, pairs)), Mask("unknown"))


def _computed(root: torch.nn.Module, node: fx.Node) -> Any:
    """Value of a node that depends on no input; None where it needs numbers that the device "meta" does not hold."""
    order = _before(node)
    last = {x: reader for reader in order for x in reader.all_input_nodes}
    values: dict[fx.Node, Any] = {}
    for each in order:
        values[each] = _run(root, each, values)
        if values[each] is None:
            return None
        for x in each.all_input_nodes:
            if last[x] is each:
                del values[x]
    return values[node]


def _before(node: fx.Node) -> list[fx.Node]:
    """All that a node needs, and the node itself, in the order of the graph."""
    found, open_nodes = {node}, [node]
    while open_nodes:
        fresh = set(open_nodes.pop().all_input_nodes) - found
        found |= fresh
        open_nodes += fresh
    return sorted(found)


def _run(root: torch.nn.Module, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    if node.op == "get_attr":
        value = root
        for part in str(node.target).split("."):
            value = getattr(value, part)
        return None if isinstance(value, torch.Tensor) and value.is_meta else value
    if packet(node) in (torch.ops.aten.empty, torch.ops.aten.empty_like, torch.ops.aten.new_empty):
        return None  # written in place later
    assert callable(node.target)
    args, kwargs = fx.node.map_aggregate((node.args, node.kwargs), lambda x: _on_cpu(x, values))
    return node.target(*args, **kwargs)


def _on_cpu(x: Any, values: dict[fx.Node, Any]) -> Any:
    if isinstance(x, fx.Node):
        return values[x]
    return torch.device("cpu") if isinstance(x, torch.device) else x
