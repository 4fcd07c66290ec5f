"""Several operators of torch that are one of Penstock's: RMS norms written out, and gated activations."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import fx

from . import rules
from .rules import Work
from .tensors import Tensors, packet

aten = torch.ops.aten


@dataclass
class Match:
    """Nodes that together are one operator."""

    nodes: set[fx.Node]
    anchor: fx.Node  #: whose value is the operator's output
    operands: list[fx.Node]  #: what it reads from outside, in the order of its arguments
    work: Work


def only_reader(node: fx.Node, *packets: object) -> fx.Node | None:
    """The reader of a tensor behind views, if it is the only one and of these operators."""
    users = list(node.users)
    if len(users) != 1:
        return None
    return users[0] if packet(users[0]) in packets else None


def _behind_casts(node: fx.Node) -> fx.Node:
    """The last of a row of casts that only the node goes through."""
    while nxt := only_reader(node, aten.to, aten._to_copy, aten.type_as):
        node = nxt
    return node


def rms_norm(t: Tensors, root: fx.Node) -> Match | None:
    """`weight * (x * rsqrt(mean(x ** 2) + eps))`, found by its rsqrt, with casts anywhere between."""
    shifted = t.source(root.args[0])
    mean = t.source(shifted.args[0]) if packet(shifted) is aten.add else None
    power = t.source(mean.args[0]) if mean is not None and packet(mean) is aten.mean else None
    if power is None or packet(power) is not aten.pow or power.args[1] != 2:
        return None
    x, scaled = power.args[0], only_reader(root, aten.mul)
    if scaled is None or t.source(x) not in [t.source(arg) for arg in scaled.all_input_nodes]:
        return None
    weighted = only_reader(_behind_casts(scaled), aten.mul)
    if weighted is None or not any(arg in t.parameter for arg in weighted.all_input_nodes):
        return None
    inside = {power, mean, shifted, root, scaled, weighted} | _between(scaled, weighted)
    work = rules.norm(t.elements(x), t.width(x), "rms", t.needs(x))
    return Match(inside, weighted, [x], work)


def _between(first: fx.Node, last: fx.Node) -> set[fx.Node]:
    """Nodes of a row of single readers after `first` and before `last`."""
    found = set()
    node = next(iter(first.users))
    while node is not last:
        found.add(node)
        node = next(iter(node.users))
    return found


def swiglu(t: Tensors, gate: fx.Node) -> Match | None:
    """`silu(gate) * up`, found by its silu: one kernel here, as in the zoo."""
    product = only_reader(gate, aten.mul)
    if product is None:
        return None
    other = [x for x in product.all_input_nodes if x is not gate]
    if len(other) != 1 or not t.computed(other[0]) or t.shape(other[0]) != t.shape(gate):
        return None
    operands = [gate.args[0], other[0]]
    work = rules.swiglu(t.elements(product), any(t.needs(x) for x in operands))
    return Match({gate, product}, product, operands, work)


FOUND_BY = {aten.rsqrt: rms_norm, aten.silu: swiglu}
