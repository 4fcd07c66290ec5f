"""The nodes of a captured graph gathered into operators: which nodes an operator runs, and what it reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import fx

from .aten_table import pointwise, work_of
from .attention_core import Core, kernel_core, split_core
from .attention_pattern import attention
from .capture import Capture
from .experts_pattern import Mixtures
from .masks import Masks
from .naming import Namer
from .patterns import FOUND_BY, Match
from .rules import Work
from .tensors import Tensors, packet

aten = torch.ops.aten


@dataclass
class Group:
    """One operator and the nodes that it replaces, in the order of the graph."""

    name: str
    nodes: list[fx.Node]
    anchor: fx.Node  #: whose value is its output
    work: Work
    operands: list[fx.Node]  #: nodes of other groups that it reads, in the order of its arguments
    weights: list[fx.Node] = field(default_factory=list)  #: of its parameters, each once


@dataclass
class Grouping:
    """All operators in the order of the graph, and the operator of every node that belongs to one."""

    tensors: Tensors
    groups: list[Group]
    of: dict[fx.Node, Group]
    doubts: list[str] = field(default_factory=list)  #: modules that were not understood, a sentence each
    unknown_masks: list[str] = field(default_factory=list)  #: attentions whose mask is of no kind that Penstock has


def gather(captured: Capture, whole: bool = False) -> Grouping:
    """Patterns first, then a group per operator; views of whole tensors go with what they show.

    `whole`: what a model computes, not what torch runs. An attention that runs kernel by kernel is one operator too, and
    functions of single numbers are element-wise whatever they compute.
    """
    t = Tensors(captured)
    nodes = [node for node in captured.graph.graph.nodes if node.op in ("placeholder", "call_function")]
    mixtures = Mixtures(t, captured)
    matches = _matches(t, nodes, mixtures, Masks(t, captured.graph), whole)
    claimed = {node for match in matches.values() for node in match.nodes}
    out, namer = Grouping(t, [], {}, mixtures.doubts), Namer(t)
    for node in nodes:
        if match := matches.get(node):
            _enter(out, namer, match)
        elif node in claimed or not t.computed(node) or not node.users:
            continue
        elif t.shows_all(node):
            group = out.of[t.source(node)]
            group.nodes.append(node)
            out.of[node] = group
        else:
            match = _single(t, node, whole)
            for indices in match.operands:
                if indices not in out.of:
                    _enter_constant(out, namer, indices, match)
            _enter(out, namer, match)
    return out


def _enter_constant(out: Grouping, namer: Namer, node: fx.Node, reader: Match) -> None:
    """Positions that are a constant of the module enter as an input, as in the zoo: a table is looked up by some."""
    work = _input_work(out.tensors, node)
    name = namer.name_beside(reader, "input")
    group = Group(name, [node], node, work, [])
    out.groups.append(group)
    out.of[node] = group


def _matches(
    t: Tensors, nodes: list[fx.Node], mixtures: Mixtures, masks: Masks, whole: bool
) -> dict[fx.Node, Match]:
    """By their anchors. Mixtures go first, then attention: norms of its queries are its own."""
    found: dict[fx.Node, Match] = {}
    claimed: set[fx.Node] = set()

    def claim(match: Match | None) -> None:
        if match and not match.nodes & claimed:
            found[match.anchor] = match
            claimed.update(match.nodes)

    for match in mixtures.matches:
        claim(match)
    for core in _cores(t, nodes, masks, whole):
        claim(attention(t, core))
    for node in nodes:
        if packet(node) in FOUND_BY and node not in claimed and t.computed(node):
            claim(FOUND_BY[packet(node)](t, node))
    return found


def _cores(t: Tensors, nodes: list[fx.Node], masks: Masks, split_too: bool) -> Iterator[Core]:
    for node in nodes:
        if not t.computed(node):
            continue
        if packet(node) is aten.scaled_dot_product_attention:
            yield kernel_core(t, masks, node)
        elif split_too and packet(node) in (aten.softmax, aten._softmax):
            if core := split_core(t, masks, node):
                yield core


def _single(t: Tensors, node: fx.Node, whole: bool) -> Match:
    if node.op == "placeholder":
        return Match({node}, node, [], _input_work(t, node))
    work = work_of(t, node)
    if whole and work.kind == "profiled":
        work = pointwise(t, node) or work
    operands = _operands_of(t, node)
    if work.kind == "embedding" and not operands:
        operands = [node.args[1]]
    return Match({node}, node, operands, work)


def _input_work(t: Tensors, node: fx.Node) -> Work:
    return Work("input", {"elements": t.elements(node)}, kept_bytes=t.bytes(node))


def _operands_of(t: Tensors, node: fx.Node) -> list[fx.Node]:
    found: list[fx.Node] = []
    fx.map_arg((node.args, node.kwargs), lambda x: found.append(x) if t.computed(x) else None)
    return found


def _enter(out: Grouping, namer: Namer, match: Match) -> None:
    t = out.tensors
    nodes = sorted(match.nodes)
    weights: dict[int, fx.Node] = {id(t.parameter[x]): x for x in match.weights}
    elsewhere = {id(t.parameter[x]) for x in match.elsewhere}
    for node in nodes:
        for x in node.all_input_nodes:
            if x in t.parameter and id(t.parameter[x]) not in elsewhere:
                weights.setdefault(id(t.parameter[x]), x)
    if match.mask is not None and match.mask.kind == "unknown":
        out.unknown_masks.append(match.anchor.name)
    group = Group(
        namer.name(match, list(weights.values())), nodes, match.anchor, match.work, match.operands, [*weights.values()]
    )
    out.groups.append(group)
    out.of.update(dict.fromkeys(nodes, group))
