"""Several operators of torch that are one of Penstock's: RMS norms written out, and gated activations."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field

import torch
from torch import fx

from . import rules
from .masks import Mask
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
    weights: list[fx.Node] = field(default_factory=list)  #: parameters that it holds for others
    elsewhere: list[fx.Node] = field(default_factory=list)  #: parameters that it reads and another operator holds
    mask: Mask | None = None  #: of an attention


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
    """`weight * (x * rsqrt(mean(x ** 2) + eps))`, found by its root, with casts anywhere between.

    The weight may be made of a parameter (Gemma's 1 + w), or be missing.
    """
    shifted = t.source(root.args[0])
    mean = t.source(shifted.args[0]) if packet(shifted) is aten.add else None
    power = t.source(mean.args[0]) if mean is not None and packet(mean) is aten.mean else None
    if power is None or packet(power) not in (aten.pow, aten.square) or power.args[-1] not in (2, power.args[0]):
        return None
    if packet(root) is aten.pow and root.args[1] != -0.5:
        return None
    x, scaled = power.args[0], only_reader(root, aten.mul)
    if scaled is None or t.source(x) not in [t.source(arg) for arg in scaled.all_input_nodes]:
        return None
    weighted = only_reader(_behind_casts(scaled), aten.mul)
    weights = [arg for arg in weighted.all_input_nodes if t.from_weights(arg)] if weighted is not None else []
    if weighted is None or not weights:
        weighted = scaled
    inside = {power, mean, shifted, root, scaled, weighted} | _between(scaled, weighted)
    inside |= {node for weight in weights for node in _made_of_weights(t, weight)}
    form = "rms"
    if centred := _centred(t, x, inside):
        inside |= centred
        x, form = t.source(x).args[0], "layer"
    work = rules.norm(t.elements(x), t.width(x), form, t.needs(x))
    if part := columns_alone(t, x, inside):
        inside |= part
        x = t.source(t.source(x).args[0])
    return Match(inside, weighted, [x], work)


def _centred(t: Tensors, x: fx.Node, readers: set[fx.Node]) -> set[fx.Node]:
    """Nodes that subtract the mean, if only `readers` read the difference: a layer norm written out."""
    difference = t.source(x)
    if packet(difference) is not aten.sub or not isinstance(difference.args[1], fx.Node):
        return set()
    mean = t.source(difference.args[1])
    if packet(mean) is not aten.mean or t.source(mean.args[0]) is not t.source(difference.args[0]):
        return set()
    found = {difference, mean}
    alone = all(user in readers for user in difference.users) and all(user in found for user in mean.users)
    return found if alone else set()


def columns_alone(t: Tensors, x: fx.Node, readers: set[fx.Node]) -> set[fx.Node]:
    """Some columns of a tensor and casts of these, if only `readers` read them; else nothing."""
    part = t.source(x)
    if packet(part) is not operator.getitem or not is_split(part.args[0]):
        return set()
    found, open_nodes = {part}, [part]
    while open_nodes:
        for user in open_nodes.pop().users:
            if user in readers:
                continue
            if not t.shows_all(user):
                return set()
            found.add(user)
            open_nodes.append(user)
    return found


def is_split(node: fx.Node) -> bool:
    """True for a tensor cut along its last axis."""
    if packet(node) not in (aten.split, aten.split_with_sizes, aten.chunk):
        return False
    axis = node.args[2] if len(node.args) > 2 else node.kwargs.get("dim", 0)
    return axis in (-1, len(node.args[0].meta["val"].shape) - 1)


def _made_of_weights(t: Tensors, node: fx.Node) -> set[fx.Node]:
    """A tensor made of parameters, and all between, if nothing else reads them."""
    found, open_nodes = set(), [node]
    while open_nodes:
        each = open_nodes.pop()
        if t.role(each) == "value" and each not in found:
            found.add(each)
            open_nodes += each.all_input_nodes
    return found


def _between(first: fx.Node, last: fx.Node) -> set[fx.Node]:
    """Nodes of a row of single readers after `first` and before `last`."""
    found: set[fx.Node] = set()
    node = last if first is last else next(iter(first.users))
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
    inside = {gate, product}
    halves = {x for x in operands if packet(x) is operator.getitem and is_split(x.args[0]) and len(x.users) == 1}
    if len(halves) == 2 and operands[0].args[0] is operands[1].args[0]:
        return Match(inside | halves, product, [t.source(operands[0].args[0])], work)
    return Match(inside, product, operands, work)


FOUND_BY = {aten.rsqrt: rms_norm, aten.pow: rms_norm, aten.silu: swiglu}
