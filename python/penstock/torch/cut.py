"""A captured graph cut into the stages of a plan: a module per stage, and the tensors that go from each to the next."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn

from .capture import Capture
from .groups import Grouping
from .plan_file import CannotRun, Plan
from .tensors import Tensors, differentiable, is_view


class Stage(nn.Module):
    """A graph that takes what the stage before sends, and of named inputs those it reads."""

    def __init__(self, body: fx.GraphModule, inputs: tuple[str, ...]):
        super().__init__()
        self.body, self.inputs = body, inputs

    def forward(self, *received: torch.Tensor, **inputs: torch.Tensor) -> Any:
        return self.body(*received, *(inputs[name] for name in self.inputs))


@dataclass(frozen=True)
class Part:
    """One stage: `module(*received, **inputs)` gives what it sends, the last stage what the whole module gives."""

    module: Stage
    receives: tuple[fx.Node, ...]  #: values of the stage before, those for later stages among them
    sends: tuple[fx.Node, ...]


class Cutter:
    """Values that no gradient flows to (inputs, masks, positions) are computed again where they are needed and never sent."""

    def __init__(self, captured: Capture, grouping: Grouping, plan: Plan):
        self._graph, self._plan = captured.graph, plan
        self._tensors: Tensors = grouping.tensors
        self._free: set[fx.Node] = set()
        self._stage: dict[fx.Node, int] = {}
        self._assign(grouping)
        self._users = {node: self._stages_of_users(node) for node in self._stage}
        self._check()

    def parts(self) -> list[Part]:
        return [self._part(stage) for stage in range(len(self._plan.operators))]

    def _assign(self, grouping: Grouping) -> None:
        stage_of = {name: i for i, names in enumerate(self._plan.operators) for name in names}
        missing = {group.name for group in grouping.groups} ^ set(stage_of)
        if missing:
            raise ValueError(f"{self._plan.name}: plan and module differ in operators, first {sorted(missing)[0]!r}")
        for node in self._graph.graph.nodes:
            if node.op == "output":
                continue
            before = node.all_input_nodes
            if not self._tensors.needs(node) and all(x in self._free for x in before):
                self._free.add(node)
            elif node.target is operator.getitem:  # a tuple is not sent: its parts are taken where it is made
                self._stage[node] = self._stage[node.args[0]]
            elif node in grouping.of:
                self._stage[node] = stage_of[grouping.of[node].name]

    def _stages_of_users(self, node: fx.Node) -> set[int]:
        last = len(self._plan.operators) - 1
        return {last if user.op == "output" else self._stage[user] for user in node.users if user not in self._free}

    def _check(self) -> None:
        reasons = list(dict.fromkeys([*self._misplaced(), *self._apart()]))
        if reasons:
            raise CannotRun(self._plan.name, reasons)

    def _misplaced(self) -> Iterator[str]:
        for node, stage in self._stage.items():
            later = {reader for reader in self._users[node] if reader != stage}
            if any(reader < stage for reader in later):
                yield f"stage {min(later)} reads what stage {stage} makes, which comes later"
            if later and not differentiable(node):
                yield f"{node.name}, which has no gradient, would go from stage {stage} to {min(later)}"

    def _apart(self) -> Iterator[str]:
        """Stages that torch would run in a row although the plan does not."""
        for stage in range(1, len(self._plan.operators)):
            reads = any(made == stage - 1 and stage in self._users[node] for node, made in self._stage.items())
            if not reads and stage - 1 not in self._plan.after[stage]:
                yield f"the stages are no row: stage {stage} reads nothing of stage {stage - 1} and is not after it"

    def _crossing(self, stage: int) -> tuple[fx.Node, ...]:
        """Values that go from the stage before to this one, in the order of the graph."""
        return tuple(n for n, made in self._stage.items() if made < stage and max(self._users[n], default=-1) >= stage)

    def _needed(self, stage: int) -> set[fx.Node]:
        """Nodes that the stage runs: its own, what they need that is free, and writes to buffers beside them."""
        own = {node for node, made in self._stage.items() if made == stage}
        open_nodes = [x for node in own for x in node.all_input_nodes]
        if stage == len(self._plan.operators) - 1:
            open_nodes += next(n for n in self._graph.graph.nodes if n.op == "output").all_input_nodes
        open_nodes += [node for node, at in self._writes().items() if at == stage]
        while open_nodes:
            node = open_nodes.pop()
            if node in self._free and node not in own:
                own.add(node)
                open_nodes += node.all_input_nodes
        return own

    def _writes(self) -> dict[fx.Node, int]:
        """Writes to buffers, such as a batch norm's count of batches, and the stage that runs next."""
        found: dict[fx.Node, int] = {}
        waiting: list[fx.Node] = []
        for node in self._graph.graph.nodes:
            if node in self._stage:
                found.update(dict.fromkeys(waiting, self._stage[node]))
                waiting = []
            elif node.op == "call_function" and not node.users:
                waiting.append(node)
        return found | dict.fromkeys(waiting, len(self._plan.operators) - 1)

    def _part(self, stage: int) -> Part:
        last = stage == len(self._plan.operators) - 1
        receives = self._crossing(stage) if stage > 0 else ()
        sends = () if last else self._crossing(stage + 1)
        needed = self._needed(stage)
        graph, copies = fx.Graph(), {}
        for node in receives:
            copies[node] = graph.placeholder(node.name)
        inputs = [node for node in self._graph.graph.nodes if node.op == "placeholder" and node in needed]
        for node in inputs:
            copies[node] = graph.placeholder(node.name)
        for node in self._graph.graph.nodes:
            if node in needed and node not in copies:
                copies[node] = graph.node_copy(node, lambda x: copies[x])
        if last:
            output = next(n for n in self._graph.graph.nodes if n.op == "output")
            graph.output(fx.map_arg(output.args[0], lambda x: copies[x]))
        else:
            graph.output(tuple(self._sent(graph, copies, node, receives) for node in sends))
        body = fx.GraphModule(self._graph, graph)
        return Part(Stage(body, tuple(node.name for node in inputs)), receives, sends)

    def _sent(self, graph: fx.Graph, copies: dict[fx.Node, fx.Node], node: fx.Node, receives: tuple[fx.Node, ...]) -> fx.Node:
        """A copy of what only passes through, and of a view: torch detaches in place what a stage has sent."""
        if node in receives or is_view(node):
            return graph.call_method("clone", (copies[node],))
        return copies[node]
