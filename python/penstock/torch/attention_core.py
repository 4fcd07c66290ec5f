"""Cores of attention: one kernel, or a softmax between two products."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from .masks import Mask, Masks
from .tensors import VIEWS, Tensors, packet

aten = torch.ops.aten
_PRODUCTS = (aten.matmul, aten.bmm, aten.baddbmm)
# Operators on scores beside the mask: scale, soft limit, sinks, casts.
_ON_SCORES = VIEWS | {operator.getitem}
_ON_SCORES |= {getattr(aten, name) for name in "mul div tanh cat sub add masked_fill where dropout max amax".split()}
_ON_SHARES = VIEWS | {aten.dropout, operator.getitem}


@dataclass
class Core:
    """The nodes between projected queries, keys and values and their weighted sum, with sizes."""

    nodes: set[fx.Node]
    query: fx.Node  #: [..., queries, width of a head]
    key: fx.Node
    value: fx.Node
    result: fx.Node  #: the weighted sum
    masks: list[fx.Node]  #: tensors that mask or shift scores
    mask: Mask
    queries: int
    keys: int
    heads: int
    head: int  #: width of a query's head
    value_head: int
    sinks: list[fx.Node]  #: parameters among the scores


def kernel_core(t: Tensors, masks: Masks, node: fx.Node) -> Core:
    """Core of a scaled_dot_product_attention."""
    query, key, value = node.args[:3]
    tensor = node.args[3] if len(node.args) > 3 else node.kwargs.get("attn_mask")
    causal = node.args[5] if len(node.args) > 5 else node.kwargs.get("is_causal", False)
    mask = masks.of(tensor) if tensor is not None else Mask("causal" if causal else "none")
    return Core(
        nodes={node},
        query=query,
        key=key,
        value=value,
        result=node,
        masks=[tensor] if tensor is not None else [],
        mask=mask,
        queries=t.shape(query)[-2],
        keys=t.shape(key)[-2],
        heads=t.shape(query)[-3],
        head=t.width(query),
        value_head=t.width(value),
        sinks=[],
    )


def split_core(t: Tensors, masks: Masks, softmax: fx.Node) -> Core | None:
    """Core by its softmax, where a product of two computed tensors comes before it and another behind."""
    before, behind = _scores(t, softmax), _weighted_sum(t, softmax)
    if before is None or behind is None:
        return None
    product, nodes, beside, sinks = before
    last, shares = behind
    query, key = product.args[-2:]
    queries, keys, value = t.shape(product)[-2], t.width(product), last.args[-1]
    if packet(product) is aten.baddbmm:
        beside = [*beside, product.args[0]]
    return Core(
        nodes=nodes | shares | {product, softmax, last},
        query=query,
        key=key,
        value=value,
        result=last,
        masks=beside,
        mask=_joined(masks, beside),
        queries=queries,
        keys=keys,
        heads=t.elements(product) // (queries * keys),
        head=t.width(query),
        value_head=t.width(last),
        sinks=sinks,
    )


def _joined(masks: Masks, tensors: list[fx.Node]) -> Mask:
    """Pairs that all masks together leave. A bias by position leaves all pairs and changes nothing."""
    found = {masks.of(x) for x in tensors} - {Mask("none")}
    return next(iter(found)) if len(found) == 1 else Mask("unknown" if found else "none")


def _is_product(t: Tensors, node: Any) -> bool:
    """True for a product of two tensors that inputs decide."""
    if not isinstance(node, fx.Node) or packet(node) not in _PRODUCTS:
        return False
    return all(t.computed(x) for x in node.args[-2:])


def _scores(
    t: Tensors, softmax: fx.Node
) -> tuple[fx.Node, set[fx.Node], list[fx.Node], list[fx.Node]] | None:
    """The product before a softmax; nodes between, tensors that join there, parameters among these."""
    inside: set[fx.Node] = set()
    beside: list[fx.Node] = []
    sinks: list[fx.Node] = []
    products: list[fx.Node] = []
    open_nodes = [softmax.args[0]]
    while open_nodes:
        node = open_nodes.pop()
        if node in inside or node in products or node in beside:
            continue
        if _is_product(t, node):
            products.append(node)
        elif t.role(node) == "parameter":
            sinks.append(node)
        elif not t.needs(node):
            beside.append(node)
        elif packet(node) in _ON_SCORES:
            inside.add(node)
            open_nodes += node.all_input_nodes
        else:
            return None
    return (products[0], inside, beside, sinks) if len(products) == 1 else None


def _weighted_sum(t: Tensors, softmax: fx.Node) -> tuple[fx.Node, set[fx.Node]] | None:
    """The product behind a softmax, and nodes between."""
    inside: set[fx.Node] = set()
    node = softmax
    while True:
        users = [user for user in node.users if user.users]
        if len(users) != 1:
            return None
        node = users[0]
        if _is_product(t, node):
            return node, inside
        if packet(node) not in _ON_SHARES:
            return None
        inside.add(node)
