"""A captured graph run operator by operator, so that each can be watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from .capture import Capture
from .groups import Group, Grouping


class Runner:
    """Runs the groups of a captured graph one after the other on real tensors."""

    def __init__(self, captured: Capture, grouping: Grouping, inputs: dict[str, torch.Tensor]):
        self._graph, self._tensors, self._grouping = captured.graph, grouping.tensors, grouping
        self._run_node = fx.Interpreter(captured.graph).run_node
        self.values: dict[fx.Node, Any] = {}  #: of every node that has run
        for node in captured.graph.graph.nodes:
            if node.op == "placeholder":
                self.values[node] = inputs[node.name]
            elif node.op != "output" and not self._tensors.computed(node):
                self.values[node] = self._run(node, self.values)

    def run(self, group: Group) -> None:
        """On the values of those before, with gradients flowing through."""
        for node in group.nodes:
            if node.op != "placeholder":
                self.values[node] = self._run(node, self.values)

    def alone(self, group: Group) -> Callable[[], tuple[list[torch.Tensor], list[torch.Tensor]]]:
        """A function that runs the group cut off from those before: what it makes, and what has gradients of it.

        Every call takes the same inputs; `results` of the call go on to later groups.
        """
        outside = [x for node in group.nodes for x in node.all_input_nodes if x not in group.nodes]
        leaves = {x: self._leaf(x) for x in dict.fromkeys(outside)}
        wanted = [x for value in leaves.values() for x in tensors(value) if x.requires_grad]

        def call() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
            made: dict[fx.Node, Any] = dict(leaves)
            for node in group.nodes:
                made[node] = self.values[node] if node.op == "placeholder" else self._run(node, made)
            self.values.update({node: made[node] for node in group.nodes})
            return [x for node in self._read_outside(group) for x in tensors(made[node])], wanted

        return call

    def _leaf(self, node: fx.Node) -> Any:
        """The value of a node as if the model began there."""
        value, asked = self.values[node], self._tensors.needs(node)
        if not self._tensors.computed(node):
            return value

        def cut(x: torch.Tensor) -> torch.Tensor:
            return x.detach().requires_grad_(asked and x.is_floating_point())

        return pytree.tree_map_only(torch.Tensor, cut, value)

    def _read_outside(self, group: Group) -> Sequence[fx.Node]:
        inside = set(group.nodes)
        return [node for node in group.nodes if any(user not in inside for user in node.users)]

    def _run(self, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
        if node.op == "get_attr":
            return self._run_node(node)
        args, kwargs = fx.map_arg((node.args, node.kwargs), lambda x: values[x])
        return node.target(*args, **kwargs)


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """All in a value that may be a tensor, or a list of some."""
    return (x for x in pytree.tree_leaves(value) if isinstance(x, torch.Tensor))
