"""Attention with its projections: what leads from dense layers to scaled_dot_product_attention and on to the last."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from .aten_table import argument, dense_layer
from .attention_rule import Attention
from .patterns import Match
from .tensors import VIEWS, Tensors, packet

aten = torch.ops.aten

# Operators that may come between a projection and the core: views, rotary positions, norms of queries and keys.
_LIGHT = VIEWS | {getattr(aten, name) for name in "mul add neg cat stack pow mean rsqrt rms_norm".split()}
_LIGHT |= {operator.getitem}


@dataclass
class _Path:
    """Nodes that lead to one argument of the core."""

    layers: set[fx.Node] = field(default_factory=set)  #: dense layers it begins with
    inside: set[fx.Node] = field(default_factory=set)  #: between
    beside: list[fx.Node] = field(default_factory=list)  #: values from outside that no gradient flows to
    complete: bool = True  #: nothing else comes before


def _path(t: Tensors, end: fx.Node) -> _Path:
    found, open_nodes = _Path(), [end]
    while open_nodes:
        node = open_nodes.pop()
        if node in found.inside or node in found.layers or not t.computed(node):
            continue
        if dense_layer(t, node):
            found.layers.add(node)
        elif not t.needs(node):
            found.beside.append(node)
        elif packet(node) in _LIGHT:
            found.inside.add(node)
            open_nodes += reversed(node.all_input_nodes)
        else:
            found.complete = False
    return found


def _behind(t: Tensors, core: fx.Node) -> tuple[fx.Node, set[fx.Node]] | None:
    """The dense layer that is the only reader of the core's result, and the views between."""
    inside: set[fx.Node] = set()
    node = core
    while len(node.users) == 1:
        node = next(iter(node.users))
        if dense_layer(t, node):
            return node, inside
        if packet(node) not in VIEWS:
            return None
        inside.add(node)
    return None


def attention(t: Tensors, core: fx.Node) -> Match | None:
    """One operator for a core and its projections; None where something else is between or reads a part."""
    paths = [_path(t, argument_node) for argument_node in core.args[:3]]
    end = _behind(t, core)
    if end is None or not all(path.complete and len(path.layers) == 1 for path in paths):
        return None
    last, inside = end
    layers = [next(iter(path.layers)) for path in paths]
    nodes = inside | {core, last, *layers}.union(*(path.inside for path in paths))
    if any(user not in nodes for node in nodes - {last} for user in node.users):
        return None
    described = _describe(t, core, last, layers, paths)
    if described is None:
        return None
    operands = [_dense(t, layer)[0] for layer in layers]
    work = described.work([t.needs(x) for x in operands], t.number_bytes(core))
    beside = dict.fromkeys(x for path in paths for x in path.beside)
    mask = argument(core, 3, "attn_mask")
    if mask is not None and t.computed(mask):
        beside[mask] = None
    return Match(nodes, last, operands + list(beside), work)


def _dense(t: Tensors, layer: fx.Node) -> tuple[Any, Any, Any | None]:
    """dense_layer of what is known to be one."""
    found = dense_layer(t, layer)
    assert found is not None
    return found


def _shared_heads(layers: list[fx.Node], widths: list[int], heads: int) -> int:
    """Heads of keys and values; `widths` of the layers in heads, which two or all three may share."""
    if layers[0] is layers[1]:
        return (widths[0] - heads) // 2
    return widths[1] // 2 if layers[1] is layers[2] else widths[1]


def _describe(t: Tensors, core: fx.Node, last: fx.Node, layers: list[fx.Node], paths: list[_Path]) -> Attention | None:
    query, key = core.args[:2]
    heads, head = t.shape(query)[-3], t.width(query)
    kv_heads = _shared_heads(layers, [t.width(layer) // head for layer in layers], heads)
    sources = [_dense(t, layer)[0] for layer in layers]
    biases = [_dense(t, layer)[2] is not None for layer in [*layers, last]]
    uniform = biases[0] == biases[1] == biases[2] and biases[3] <= biases[0]
    if not uniform or t.width(sources[0]) != t.width(last) or kv_heads < 1 or heads % kv_heads:
        return None
    return Attention(
        queries=t.shape(query)[-2],
        keys=t.shape(key)[-2],
        hidden=t.width(last),
        heads=heads,
        kv_heads=kv_heads,
        head=head,
        key_width=t.width(sources[1]),
        value_width=t.width(sources[2]),
        bias=biases[3],
        qkv_bias=biases[0] and not biases[3],
        rotary=any(packet(node) is aten.neg for node in paths[0].inside),
        qk_norm=any(packet(node) in (aten.rsqrt, aten.rms_norm) for node in paths[0].inside),
        causal=bool(argument(core, 5, "is_causal", False)),
    )
