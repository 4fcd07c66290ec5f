"""A graph made plain: contexts such as no_grad opened up, operators in place replaced by those that return."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx

_CONTEXTS = ("wrap_with_set_grad_enabled", "wrap_with_autocast")


def inline_contexts(graph_module: fx.GraphModule) -> None:
    """Puts the operators of regions without gradient, or with another autocast, in the place of the region.

    Checks of dtypes, which export leaves behind, go too.
    """
    graph = graph_module.graph
    while regions := [node for node in graph.nodes if getattr(node.target, "__name__", "") in _CONTEXTS]:
        for node in regions:
            _inline(graph_module, node)
    for node in graph.nodes:
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            graph.erase_node(node)
    graph.eliminate_dead_code()
    graph_module.recompile()


def _inline(graph_module: fx.GraphModule, node: fx.Node) -> None:
    at = next(i for i, arg in enumerate(node.args) if isinstance(arg, fx.Node) and arg.op == "get_attr")
    region = _attribute(graph_module, node.args[at].target)
    placeholders = [inner for inner in region.graph.nodes if inner.op == "placeholder"]
    values = dict(zip(placeholders, node.args[at + 1 :]))
    with graph_module.graph.inserting_before(node):
        results = graph_module.graph.graph_copy(region.graph, values)
    if isinstance(results, fx.Node):
        node.replace_all_uses_with(results)
    else:
        for user in list(node.users):
            assert user.target is operator.getitem
            user.replace_all_uses_with(results[user.args[1]])
            graph_module.graph.erase_node(user)
    graph_module.graph.erase_node(node)


def _attribute(root: Any, path: str) -> Any:
    for part in path.split("."):
        root = getattr(root, part)
    return root


def without_mutation(graph_module: fx.GraphModule) -> None:
    """`relu_(x)` becomes `relu(x)`, which later readers of x read; buffers are still written in place.

    What is written over a slice of x becomes a new x, which later readers read.
    """
    place = {node: i for i, node in enumerate(graph_module.graph.nodes)}
    for node in list(graph_module.graph.nodes):
        twin = _twin(node)
        if twin is None or node.args[0].op == "get_attr":
            continue
        node.target = twin
        written = node.args[0]
        _read_later(place, written, node, place[node])
        if getattr(written.target, "overloadpacket", None) is torch.ops.aten.slice:
            _read_later(place, written.args[0], _scattered(graph_module.graph, node, written), place[node])
    graph_module.graph.eliminate_dead_code()
    graph_module.recompile()


def _read_later(place: dict[fx.Node, int], before: fx.Node, after: fx.Node, since: int) -> None:
    """Readers of `before` that come later than the place `since` read `after`."""
    for user in [*before.users]:
        if place.get(user, -1) > since:
            user.replace_input_with(before, after)


def _scattered(graph: fx.Graph, written: fx.Node, part: fx.Node) -> fx.Node:
    """The tensor of which `part` was a slice, with what was written over that."""
    whole = part.args[0]
    assert isinstance(whole, fx.Node)
    with graph.inserting_after(written):
        out = graph.call_function(torch.ops.aten.slice_scatter.default, (whole, written, *part.args[1:]))
    out.meta = dict(written.meta, val=whole.meta["val"])
    return out


def _twin(node: fx.Node) -> Any:
    """The operator without mutation, of one that writes over its first argument."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or not isinstance(node.args[0] if node.args else None, fx.Node):
        return None
    packet, _, overload = target.name().partition("::")[2].partition(".")
    if not packet.endswith("_") or packet.endswith("__") or packet.startswith("_"):
        return None
    found = getattr(torch.ops.aten, packet[:-1], None)
    return getattr(found, overload or "default", None)
