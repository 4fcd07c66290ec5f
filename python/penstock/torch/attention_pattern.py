"""Attention with its projections: what leads from dense layers to a core and on to the last layer."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from .aten_table import dense_layer
from .attention_core import Core
from .attention_rule import Attention
from .patterns import Match
from .tensors import FRESH, VIEWS, Tensors, is_view, packet, values_read

aten = torch.ops.aten

# Operators that may come between a projection and the core: views, rotary positions, norms of queries and keys, limits.
_LIGHT = VIEWS | {operator.getitem}
_LIGHT |= {
    getattr(aten, name)
    for name in (
        "mul add sub div neg cat stack pow mean sum sqrt rsqrt rms_norm layer_norm linalg_vector_norm clamp clamp_min "
        "view_as_complex view_as_real slice_scatter copy repeat repeat_interleave index exp reciprocal zeros_like"
    ).split()
}
_NORMS = (aten.rsqrt, aten.rms_norm, aten.layer_norm, aten.linalg_vector_norm)


@dataclass
class _Path:
    """Nodes that lead to one argument of the core."""

    layers: list[fx.Node] = field(default_factory=list)  #: dense layers it begins with
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
            found.layers.append(node)
        elif packet(node) in FRESH or t.from_weights(node):  # filled by those that follow, or a part of a norm
            found.inside.add(node)
            open_nodes += values_read(node)
        elif not t.needs(node):
            found.beside.append(node)
        elif packet(node) in _LIGHT:
            found.inside.add(node)
            open_nodes += reversed(values_read(node))
        else:
            found.complete = False
    return found


def _behind(t: Tensors, result: fx.Node) -> tuple[fx.Node, set[fx.Node]] | None:
    """The dense layer that is the only reader of the core's result, and the views between."""
    inside: set[fx.Node] = set()
    node = result
    while len(node.users) == 1:
        node = next(iter(node.users))
        if dense_layer(t, node):
            return node, inside
        if not is_view(node):
            return None
        inside.add(node)
    return None


def attention(t: Tensors, core: Core) -> Match | None:
    """One operator for a core and its projections; None where something else is between or reads a part."""
    paths = [_path(t, end) for end in (core.query, core.key, core.value)]
    end = _behind(t, core.result)
    if end is None or not all(path.complete and path.layers for path in paths):
        return None
    last, inside = end
    form = _form(t, core, last, [path.layers for path in paths])
    if form is None:
        return None
    inside = inside.union(*(path.inside for path in paths))
    inside -= {node for node in inside if t.source(node) is form.shared_key}
    nodes = inside | core.nodes | {last, *form.layers}
    if any(user not in nodes for node in nodes - {last} for user in node.users):
        return None
    work = _describe(t, core, last, form, paths[0]).work([t.needs(x) for x in form.sources], t.number_bytes(last))
    beside = dict.fromkeys(x for path in paths for x in path.beside)
    beside |= dict.fromkeys(x for x in core.masks if t.computed(x))
    return Match(nodes, last, [*form.sources, *beside], work, mask=core.mask)


@dataclass
class _Form:
    """Projections of queries, keys and values, and how keys and values are shared."""

    layers: list[fx.Node]  #: of query, key and value; packed ones are one
    sources: list[fx.Node]  #: what they project
    kv_heads: int
    rotary_width: int = 0
    shared_key: fx.Node | None = None  #: dense layer that makes a part of the keys for all heads


def _form(t: Tensors, core: Core, last: fx.Node, paths: list[list[fx.Node]]) -> _Form | None:
    if len(paths[1]) == 2 and len(paths[2]) == 1:
        return _latent(t, core, paths)
    if any(len(layers) != 1 for layers in paths):
        return None
    layers = [layers[0] for layers in paths]
    kv_heads = _key_heads(core, layers, [t.width(layer) for layer in layers])
    if kv_heads < 1 or core.heads % kv_heads:
        return None
    return _Form(layers, [_dense(t, layer)[0] for layer in layers], kv_heads)


def _key_heads(core: Core, layers: list[fx.Node], widths: list[int]) -> int:
    """Heads of keys and values by the widths of the layers, which two or all three may share; 0: none fit."""
    both, queries = core.head + core.value_head, core.heads * core.head
    query, key, value = layers
    if query is key and key is value:
        return _quotient(widths[0] - queries, both)
    if key is value and query is not key:
        return _quotient(widths[1], both) if widths[0] == queries else 0
    if query is key or query is value or widths[0] != queries:
        return 0
    kv_heads = _quotient(widths[1], core.head)
    return kv_heads if widths[2] == kv_heads * core.value_head else 0


def _quotient(a: int, b: int) -> int:
    return a // b if a > 0 and a % b == 0 else 0


def _latent(t: Tensors, core: Core, paths: list[list[fx.Node]]) -> _Form | None:
    """Keys and values of one narrow tensor; a part of a key comes straight from the layer before it (DeepSeek-V2)."""
    value = paths[2][0]
    others = [layer for layer in paths[1] if layer is not value]
    if len(paths[0]) != 1 or len(others) != 1 or paths[0][0] in (value, others[0]):
        return None
    rotary = core.head + core.value_head - t.width(value) // core.heads
    narrow = _dense(t, value)[0]
    if rotary < 1 or t.width(value) % core.heads or t.width(others[0]) != t.width(narrow) + rotary:
        return None
    query = paths[0][0]
    sources = [_dense(t, query)[0], others[0], narrow]
    return _Form([query, value], sources, core.heads, rotary, others[0])


def _dense(t: Tensors, layer: fx.Node) -> tuple[Any, Any, Any | None]:
    """dense_layer of what is known to be one."""
    found = dense_layer(t, layer)
    assert found is not None
    return found


def _turns(t: Tensors, node: fx.Node) -> bool:
    """True for a product with constants that differ by position: cosines and sines."""
    constants = [x for x in node.all_input_nodes if t.role(x) == "constant"]
    return packet(node) is aten.mul and any(t.elements(x) > 1 for x in constants)


def _describe(t: Tensors, core: Core, last: fx.Node, form: _Form, query: _Path) -> Attention:
    biases = [_dense(t, layer)[2] is not None for layer in form.layers]
    last_bias = _dense(t, last)[2] is not None
    return Attention(
        queries=core.queries,
        keys=core.keys,
        hidden=t.width(last),
        heads=core.heads,
        kv_heads=form.kv_heads,
        head=core.head,
        query_width=t.width(form.sources[0]),
        key_width=t.width(form.sources[1]),
        value_width=t.width(form.sources[2]),
        value_head=core.value_head,
        rotary_width=form.rotary_width,
        bias=any(biases) and last_bias,
        qkv_bias=any(biases) and not last_bias,
        rotary=any(_turns(t, node) for node in query.inside),
        qk_norm=any(packet(node) in _NORMS for node in query.inside),
        mask=core.mask,
    )
