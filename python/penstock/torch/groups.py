"""The nodes of a captured graph gathered into operators: which nodes an operator runs, and what it reads."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import fx

from .aten_table import work_of
from .attention_pattern import attention
from .capture import Capture
from .naming import Namer
from .patterns import FOUND_BY, Match
from .rules import Work
from .tensors import Tensors, packet


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


def gather(captured: Capture) -> Grouping:
    """Patterns first, then a group per operator; views of whole tensors go with what they show."""
    t = Tensors(captured)
    nodes = [node for node in captured.graph.graph.nodes if node.op in ("placeholder", "call_function")]
    matches = _matches(t, nodes)
    claimed = {node for match in matches.values() for node in match.nodes}
    out, namer = Grouping(t, [], {}), Namer(t)
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
            match = _single(t, node)
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


def _matches(t: Tensors, nodes: list[fx.Node]) -> dict[fx.Node, Match]:
    """By their anchors. Attention goes first: norms of its queries are its own."""
    found: dict[fx.Node, Match] = {}
    claimed: set[fx.Node] = set()
    cores = [node for node in nodes if packet(node) is torch.ops.aten.scaled_dot_product_attention]
    others = [node for node in nodes if packet(node) in FOUND_BY]
    for node in cores + others:
        if node in claimed or not t.computed(node):
            continue
        match = attention(t, node) if node in cores else FOUND_BY[packet(node)](t, node)
        if match and not match.nodes & claimed:
            found[match.anchor] = match
            claimed |= match.nodes
    return found


def _single(t: Tensors, node: fx.Node) -> Match:
    if node.op == "placeholder":
        return Match({node}, node, [], _input_work(t, node))
    work = work_of(t, node)
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
    weights: dict[int, fx.Node] = {}
    for node in nodes:
        for x in node.all_input_nodes:
            if x in t.parameter:
                weights.setdefault(id(t.parameter[x]), x)
    group = Group(
        namer.name(match, list(weights.values())), nodes, match.anchor, match.work, match.operands, [*weights.values()]
    )
    out.groups.append(group)
    out.of.update(dict.fromkeys(nodes, group))
