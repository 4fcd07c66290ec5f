"""An ONNX file becomes a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .in_place import with_sums_in_place
from .model import Model, Operator
from .onnx_graph import VIEWS, OnnxGraph
from .onnx_table import work_of
from .rules import Work
from .unique import UniqueNames

_STATISTICS = {"BatchNormalization": 3}  # inputs from there on are no parameters
_SCALES = ("Mul", "Div", "Add", "Sub")  # of which an initializer of one number is none either


def from_onnx(path: str | Path, sizes: Mapping[str, int] | None = None, name: str | None = None) -> Model:
    """Reads an ONNX file; shapes are inferred by the onnx package, no runtime is needed.

    `sizes`: extents that the file has by name only; one on a first axis counts one sample otherwise. Weights may lie in files
    that are not there. Floating-point initializers count as trained. Raises ValueError naming the file where onnx.checker refuses
    it (its full check), where a shape stays unknown, and where the graph is none that a network has. Raises OSError where there
    is no file.
    """
    try:
        return _Reader(OnnxGraph(path, sizes or {}), name or Path(path).stem).model()
    except (OSError, ValueError) as fault:
        if isinstance(fault, OSError) or str(path) in str(fault):
            raise
        raise ValueError(f"{path}: {fault}") from fault
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, StopIteration, TypeError) as fault:
        raise ValueError(f"{path}: is no network that can be read: {type(fault).__name__}: {fault}") from fault


class _Reader:
    """Operators node by node, and for each tensor the operator that made it."""

    def __init__(self, graph: OnnxGraph, name: str):
        self._graph, self._name = graph, name
        self._maker: dict[str, str] = {}
        self._needs: set[str] = set()  # tensors
        self._owner: dict[str, str] = {}  # first user of an initializer
        self._names = UniqueNames()
        self._operators: list[Operator] = []
        self._readers = Counter(x for node in graph.nodes for x in node.input)

    def model(self) -> Model:
        for x in self._graph.inputs:
            size = self._graph.number_bytes(x) * self._graph.elements(x)
            work = Work("input", {"elements": self._graph.elements(x)}, kept_bytes=size)
            self._enter(x, work, [], [], x)
        skipped: set[int] = set()
        for at, node in enumerate(self._graph.nodes):
            if at not in skipped and any(self._graph.computed(x) for x in node.output):
                self._read(node, skipped)
        unknown = Counter(op.kind for op in self._operators)["profiled"]
        note = f"{unknown} operators are of no kind that Penstock knows: profiled, with sizes and rough FLOPs"
        returned = [self._maker[x] for x in self._graph.returned if x in self._maker]
        sizes = Counter(self._graph.number_bytes(x) for x in self._graph.returned)
        operators = with_sums_in_place(self._operators, returned)
        return Model(self._name, sizes.most_common(1)[0][0], operators, (note,) if unknown else ())

    def _read(self, node: Any, skipped: set[int]) -> None:
        graph = self._graph
        operands = [x for x in node.input if graph.computed(x)]
        output = node.output[0]
        whole_view = node.op_type in VIEWS and node.op_type != "Flatten" and operands
        if whole_view and graph.elements(output) == graph.elements(operands[0]):
            self._maker.update(dict.fromkeys(node.output, self._maker[operands[0]]))
            self._needs.update(node.output if operands[0] in self._needs else ())
            return
        weights = self._weights(node)
        work = work_of(graph, node, [x in self._needs for x in operands])
        if work.kind == "linear" and (bias := self._bias_behind(node)):
            at, added, initializer = bias
            skipped.add(at)
            work.shape["bias"], output, weights = 1, added, [*weights, initializer]
        self._enter(node.name or output, work, operands, weights, output, node)

    def _weights(self, node: Any) -> list[str]:
        last = _STATISTICS.get(node.op_type, len(node.input))
        found = [x for x in dict.fromkeys(node.input[:last]) if self._graph.is_weight(x)]
        return [x for x in found if self._graph.numbers(x) > 1 or node.op_type not in _SCALES]

    def _bias_behind(self, node: Any) -> tuple[int, str, str] | None:
        """The one Add of an initializer that reads a product: its position, its output, the initializer."""
        output = node.output[0]
        if self._readers[output] != 1 or output in self._graph.returned:
            return None
        for at, reader in enumerate(self._graph.nodes):
            if reader.op_type == "Add" and output in reader.input:
                other = next(x for x in reader.input if x != output)
                vector = self._graph.is_weight(other) and len(self._graph.shape(other)) == 1
                return (at, reader.output[0], other) if vector else None
        return None

    def _enter(
        self, name: str, work: Work, operands: list[str], weights: list[str], output: str, node: Any = None
    ) -> None:
        graph, name = self._graph, self._names.take(name.strip("/").replace("/", "."))
        own = [x for x in weights if self._owner.setdefault(x, name) == name]
        borrowed = [x for x in weights if self._owner[x] != name]
        self._operators.append(
            Operator(
                name=name,
                kind=work.kind,
                inputs=tuple(self._maker[x] for x in operands),
                shape=work.shape,
                forward_flops=work.forward,
                input_gradient_flops=work.to_inputs,
                weight_gradient_flops=work.to_weights if weights else 0,
                parameters=0 if borrowed else sum(graph.numbers(x) for x in own),
                parameters_of=self._owner[max(borrowed, key=graph.numbers)] if borrowed else "",
                gathered_parameters=work.gathered,
                output_bytes=graph.elements(output) * graph.number_bytes(output),
                kept_bytes=work.kept * graph.number_bytes(output) + work.kept_bytes,
            )
        )
        made = {output, *(node.output if node else ())} - {""}
        self._maker.update(dict.fromkeys(made, name))
        if weights or any(x in self._needs for x in operands):
            self._needs.update(made)
