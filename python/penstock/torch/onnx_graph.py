"""An ONNX graph: which of its tensors are inputs, parameters, constants or values, and their sizes per sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
from onnx import helper, numpy_helper, shape_inference

from .onnx_check import check_given_sizes, loaded

VIEWS = frozenset(
    "Reshape Transpose Flatten Squeeze Unsqueeze Identity Cast CastLike Expand Slice Split Dropout".split()
)
_TRAINED = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")
_BYTES = {"FLOAT": 4, "DOUBLE": 8, "FLOAT16": 2, "BFLOAT16": 2, "INT64": 8, "INT32": 4, "BOOL": 1}


class OnnxGraph:
    """Nodes in topological order, and what is known of the tensors by name."""

    def __init__(self, path: str | Path, sizes: Mapping[str, int]):
        self._path = path
        check_given_sizes(sizes, path)
        model = loaded(path)
        if self._fix(model.graph, sizes):
            del model.graph.value_info[:]  # with names where there are numbers now
        graph = shape_inference.infer_shapes(model, data_prop=True).graph
        self.name, self.nodes = graph.name, list(graph.node)
        self.weights = {x.name: tuple(x.dims) for x in graph.initializer}  #: shapes of initializers
        self._floats = {x.name for x in graph.initializer if _type(x.data_type) in _TRAINED}
        self._known = {x.name: x.type.tensor_type for x in [*graph.value_info, *graph.input, *graph.output]}
        self.inputs = [x.name for x in graph.input if x.name not in self.weights]
        self.returned = [x.name for x in graph.output]
        self.samples = self.shape(self.inputs[0])[0] if self.inputs and self.shape(self.inputs[0]) else 1
        self.constants = self._find_constants()
        self._batched = self._find_batched()

    def _fix(self, graph: Any, sizes: Mapping[str, int]) -> bool:
        """Extents that have only a name become numbers: the first axis one sample, others as in `sizes`.

        True if there were any.
        """
        found = False
        for tensor in graph.input:
            for axis, extent in enumerate(tensor.type.tensor_type.shape.dim):
                if extent.HasField("dim_value"):
                    continue
                if extent.dim_param not in sizes and axis > 0:
                    raise ValueError(
                        f"{self._path}: input {tensor.name}: say how large {extent.dim_param!r} is: "
                        f"from_onnx(path, sizes={{{extent.dim_param!r}: ...}})"
                    )
                extent.dim_value = sizes.get(extent.dim_param, 1)
                found = True
        for tensor in graph.output if found else ():
            tensor.type.tensor_type.ClearField("shape")
        return found

    def _find_constants(self) -> set[str]:
        """Nodes that follow from no input and no parameter."""
        found = {name for name in self.weights if name not in self._floats}
        for node in self.nodes:
            read = {x for x in node.input if x}
            if node.op_type == "CastLike":  # to another tensor's type
                read = {node.input[0]}
            if node.op_type in ("Constant", "Shape") or (read and read <= found):
                found.update(node.output)
        return found

    def _find_batched(self) -> set[str]:
        found = {name for name in self.inputs if self.shape(name)[:1] == (self.samples,)}
        for node in self.nodes:
            if found & set(node.input):
                found.update(x for x in node.output if self._says_shape(x) and self.numbers(x) % self.samples == 0)
        return found

    def is_weight(self, name: str) -> bool:
        return name in self._floats

    def computed(self, name: str) -> bool:
        return bool(name) and name not in self.weights and name not in self.constants

    def shape(self, name: str) -> tuple[int, ...]:
        """With the samples' axis. Raises ValueError where ONNX's shape inference found none."""
        if name in self.weights:
            return self.weights[name]
        if not self._says_shape(name):
            raise ValueError(f"{self._path}: the shape of tensor {name!r} is not known, nor does it follow")
        return tuple(d.dim_value for d in self._known[name].shape.dim)

    def _says_shape(self, name: str) -> bool:
        kind = self._known.get(name)
        return kind is not None and kind.HasField("shape") and all(d.HasField("dim_value") for d in kind.shape.dim)

    def numbers(self, name: str) -> int:
        return math.prod(self.shape(name))

    def elements(self, name: str) -> int:
        """Numbers per sample."""
        return self.numbers(name) // self.samples if name in self._batched else self.numbers(name)

    def number_bytes(self, name: str) -> int:
        kind = self._known.get(name)
        return _BYTES.get(_type(kind.elem_type), 4) if kind is not None else 4


def _type(number: int) -> str:
    return onnx.TensorProto.DataType.Name(number)


def attribute(node: Any, name: str, otherwise: Any = None) -> Any:
    """Value of an attribute; a tensor as numpy's."""
    for found in node.attribute:
        if found.name == name:
            value = helper.get_attribute_value(found)
            return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
    return otherwise
