"""Mixtures of experts: a module with matrices of shape [experts, ...], its choice and its router, as operators of Penstock.

transformers keeps the matrices of all experts of a layer in one module, which gets rows, the experts that they take
and their shares. How the module multiplies (grouped_mm, bmm, a loop) does not matter here: rows, matrices and choices
fix the work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import fx, nn

from . import rules
from .aten_table import dense_layer
from .capture import Capture
from .naming import stack_of
from .patterns import Match
from .tensors import Tensors, packet, values_read

aten = torch.ops.aten
_SCORES = {aten.softmax: "softmax", aten._softmax: "softmax", aten.sigmoid: "sigmoid"}
_CLAMPS = (aten.clamp, aten.clamp_min, aten.clamp_max)


class _NotUnderstood(Exception):
    """Why a module with batched matrices is no mixture that Penstock states."""


@dataclass
class _Call:
    """One call of a module with batched matrices, and the nodes that run in it."""

    path: str
    nodes: list[fx.Node] = field(default_factory=list)

    def reads(self, t: Tensors) -> list[fx.Node]:
        """Computed tensors from outside, in the order of their use."""
        inside = set(self.nodes)
        found = (x for node in self.nodes for x in node.all_input_nodes if x not in inside and t.computed(x))
        return list(dict.fromkeys(found))

    def output(self) -> fx.Node:
        """The one node that is read outside."""
        inside = set(self.nodes)
        read = [node for node in self.nodes if any(user not in inside for user in node.users)]
        if len(read) != 1:
            raise _NotUnderstood(f"it makes {len(read)} tensors")
        return read[0]


class Mixtures:
    """All mixtures of a captured graph."""

    def __init__(self, t: Tensors, captured: Capture):
        self._tensors = t
        self.matches: list[Match] = []
        self.doubts: list[str] = []  #: a sentence for each module that was not understood
        for call in _calls(captured):
            if not _chooses(t, call):
                continue  # a matrix for each head, as in a gated recurrence
            try:
                self.matches += _read(t, call)
            except _NotUnderstood as why:
                self.doubts.append(f"{call.path} has matrices of several experts, and {why}")


def _calls(captured: Capture) -> Iterator[_Call]:
    """Calls of modules that hold two or more stacks of matrices for equally many experts."""
    holders = {path for path, module in captured.module.named_modules() if _stacks(module)}
    calls: dict[str, _Call] = {}
    for node in captured.graph.graph.nodes:
        for raw, path in stack_of(node):
            if path in holders and node.op == "call_function":
                calls.setdefault(raw, _Call(path)).nodes.append(node)
    yield from calls.values()


def _stacks(module: nn.Module) -> bool:
    counts = [p.shape[0] for p in module.parameters(recurse=False) if p.dim() == 3]
    return len(counts) > 1 and len(set(counts)) == 1 and counts[0] > 1


def _read(t: Tensors, call: _Call) -> list[Match]:
    """The mixture, after the router's scores where these are an operator of their own."""
    routing = _routing(t, call)
    matrices, biases, others = _weights(t, call)
    mixture = _sizes(t, call, routing, matrices, biases)
    own = set(call.nodes) | routing.inside
    router = _router(t, own, routing.choice, mixture.experts)
    inside = own | router.inside
    held = _parameters(t, router.inside) + others
    scores = _scores(t, router, held)
    if held and not scores:
        raise _NotUnderstood("has parameters beside its matrices")
    work = rules.experts(mixture, t.needs(routing.rows), t.number_bytes(routing.output))
    source = router.scores or router.layer
    mixed = Match(inside - {router.scores}, routing.output, [routing.rows, source], work, elsewhere=held)
    return [*scores, mixed]


@dataclass
class _Routing:
    """Rows of a mixture, their results, and the tensors that choose experts with their shares."""

    rows: fx.Node
    output: fx.Node
    choice: list[fx.Node]
    chosen: int  #: experts that a row takes
    inside: set[fx.Node] = field(default_factory=set)  #: nodes around the module that belong to the mixture


def _routing(t: Tensors, call: _Call) -> _Routing:
    output, reads = call.output(), call.reads(t)
    if len(reads) == 1:
        return _every_expert(t, output, reads[0])
    rows, choice = _operands(t, reads, t.width(output))
    index = [x for x in choice if not _floats(t, x)]
    return _Routing(rows, output, choice, t.width(index[0]))


def _every_expert(t: Tensors, output: fx.Node, taken: fx.Node) -> _Routing:
    """Experts that get a copy of every row, multiplied by a share that is zero for most, and whose results are added up
    (Llama 4). A row needs only those with a share."""
    inside: set[fx.Node] = set()
    node = output
    while packet(node) is not aten.sum:
        users = list(node.users)
        if len(users) != 1 or not (t.shows_all(users[0]) or packet(users[0]) is aten.sum):
            raise _NotUnderstood("what it makes is not added up over its experts")
        inside.add(node)
        node = users[0]
    weighted = t.source(taken)
    copies = [x for x in weighted.all_input_nodes if packet(t.source(x)) is aten.repeat]
    shares = [x for x in weighted.all_input_nodes if x not in copies]
    if packet(weighted) is not aten.mul or len(copies) != 1 or len(shares) != 1:
        raise _NotUnderstood("what it reads is not copies of rows times shares")
    copied = t.source(copies[0])
    chosen = _top(t, shares[0])
    inside |= {node, weighted, copied} | _views_between(taken, weighted) | _views_between(copies[0], copied)
    return _Routing(copied.args[0], node, shares, chosen, inside)


def _views_between(last: fx.Node, first: fx.Node) -> set[fx.Node]:
    found = set()
    while last is not first:
        found.add(last)
        last = last.args[0]
    return found


def _chooses(t: Tensors, call: _Call) -> bool:
    """True if it reads whole numbers, or shares that a top-k made."""
    reads = call.reads(t)
    return any(not _floats(t, x) or _top_sizes(t, x) for x in reads)


def _top(t: Tensors, share: fx.Node) -> int:
    """How many are not zero: of the one top-k before."""
    found = _top_sizes(t, share)
    if len(found) != 1:
        raise _NotUnderstood("no top-k decides how many experts a row takes")
    return found.pop()


def _top_sizes(t: Tensors, share: fx.Node) -> set[int]:
    """Sizes of top-k choices between a dense layer and a tensor."""
    found, open_nodes, seen = set(), [share], set()
    while open_nodes:
        node = open_nodes.pop()
        if node in seen or not t.computed(node) or dense_layer(t, node):
            continue
        seen.add(node)
        if packet(node) is aten.topk:
            found.add(int(node.args[1]))
        open_nodes += values_read(node)
    return found


def _operands(t: Tensors, reads: list[fx.Node], width: int) -> tuple[fx.Node, list[fx.Node]]:
    """The rows, and the tensors that choose their experts with shares."""
    rows = [x for x in reads if t.width(x) == width and len(t.shape(x)) >= 2 and _floats(t, x)]
    choice = [x for x in reads if x not in rows]
    if len(rows) != 1 or not any(not _floats(t, x) for x in choice):
        raise _NotUnderstood(f"what it reads is not rows, chosen experts and shares: {[t.shape(x) for x in reads]}")
    return rows[0], choice


def _floats(t: Tensors, node: fx.Node) -> bool:
    return t.dtype(node).is_floating_point


def _weights(t: Tensors, call: _Call) -> tuple[list[nn.Parameter], list[nn.Parameter], list[fx.Node]]:
    """Matrices in the order of their use, biases, and nodes of other parameters."""
    found = _parameters(t, call.nodes)
    matrices = [t.parameter[x] for x in found if t.parameter[x].dim() == 3]
    biases = [t.parameter[x] for x in found if t.parameter[x].dim() == 2]
    return matrices, biases, [x for x in found if t.parameter[x].dim() not in (2, 3)]


def _parameters(t: Tensors, nodes: Iterator[fx.Node] | list[fx.Node] | set[fx.Node]) -> list[fx.Node]:
    """Nodes of parameters that these read, one for each parameter, in the order of the graph."""
    found: dict[int, fx.Node] = {}
    for node in sorted(nodes):
        for x in node.all_input_nodes:
            if x in t.parameter:
                found.setdefault(id(t.parameter[x]), x)
    return list(found.values())


def _sizes(
    t: Tensors, call: _Call, routing: _Routing, matrices: list[nn.Parameter], biases: list[nn.Parameter]
) -> rules.Mixture:
    """Extents by the matrices: the last one leads back to the width of the rows, those before it make twice its width
    where they are gated. Raises _NotUnderstood where parameters are left over."""
    experts, hidden = matrices[0].shape[0], t.width(routing.output)
    inner = matrices[-1].numel() // (experts * hidden)
    first = sum(p.numel() for p in matrices[:-1])
    mixture = rules.Mixture(
        rows=t.elements(routing.output) // hidden,
        hidden=hidden,
        inner=inner,
        experts=experts,
        chosen=routing.chosen,
        gated=first == 2 * matrices[-1].numel(),
        bias=bool(biases),
        clamped=any(packet(node) in _CLAMPS and _floats(t, node) for node in call.nodes),
    )
    if mixture.parameters() != sum(p.numel() for p in matrices + biases):
        shapes = [tuple(p.shape) for p in matrices + biases]
        raise _NotUnderstood(f"its parameters are neither gated nor plain feed-forwards: {shapes}")
    return mixture


@dataclass
class _Router:
    layer: fx.Node  #: dense layer that makes a number for each expert
    scores: fx.Node | None  #: function of these, all that the choice goes by; None: the numbers themselves
    inside: set[fx.Node]  #: from the scores to the choice


def _router(t: Tensors, own: set[fx.Node], choice: list[fx.Node], experts: int) -> _Router:
    """Nodes between a dense layer and the choice of experts. `own`: nodes of the mixture, which read the choice."""
    layers, inside, open_nodes = [], set(), [x for x in choice]
    while open_nodes:
        node = open_nodes.pop()
        if node in inside or node in layers or not t.computed(node):
            continue
        if dense_layer(t, node):
            layers.append(node)
        elif node.op == "placeholder":
            raise _NotUnderstood(f"an input ({node.name}) decides which experts a row takes")
        else:
            inside.add(node)
            open_nodes += values_read(node)
    if len(layers) != 1 or t.width(layers[0]) < experts:
        raise _NotUnderstood(f"{len(layers)} dense layers decide which experts a row takes")
    known = inside | own
    leaking = [x for x in inside if any(user not in known for user in x.users)]
    if leaking and not all(t.source(x) is layers[0] for x in leaking):
        raise _NotUnderstood("other operators read its choice too")
    inside -= {x for x in inside if t.source(x) is layers[0]}
    return _Router(layers[0], _function(t, layers[0], inside), inside)


def _function(t: Tensors, layer: fx.Node, inside: set[fx.Node]) -> fx.Node | None:
    """The softmax or sigmoid, if it is the only reader of a layer."""
    readers = [x for x in inside if any(t.source(arg) is layer for arg in x.all_input_nodes)]
    if len(readers) == 1 and packet(readers[0]) in _SCORES and t.elements(readers[0]) == t.elements(layer):
        return readers[0]
    return None


def _scores(t: Tensors, router: _Router, held: list[fx.Node]) -> list[Match]:
    """The operator of the scores, which holds what other parameters a choice has."""
    node = router.scores
    if node is None:
        return []
    width = t.width(node)
    if _SCORES[packet(node)] == "softmax":
        work = rules.softmax(t.elements(node) // width, width, t.needs(node))
    else:
        work = rules.activation(t.elements(node), "sigmoid", t.needs(node))
    work.to_weights = math.prod(t.shape(node)) * bool(held)
    return [Match({node}, node, [router.layer], work, held)]
