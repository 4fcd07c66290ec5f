"""Checks of an ONNX file before it is read: that onnx itself accepts it, and that its numbers can be true."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from onnx import checker, helper

_MOST_PARAMETERS = 10**13  # of one tensor, about ten times the largest models of 2026


def loaded(path: str | Path) -> Any:
    """The file's model, weights of other files left there. Raises ValueError with the file's name."""
    try:
        model = onnx.load(str(path), load_external_data=False)
    except DecodeError as fault:
        raise ValueError(f"{path}: is no ONNX file: {fault}") from fault
    _check_sizes(model.graph, path)
    _check_rules(model, path)
    return model


def check_given_sizes(sizes: Mapping[str, int], path: str | Path) -> None:
    """Raises ValueError for extents that are no whole numbers from 1 on."""
    for name, extent in sizes.items():
        if isinstance(extent, bool) or not isinstance(extent, int) or extent < 1:
            raise ValueError(f"{path}: sizes: {name}: expected a whole number from 1 on, found {extent!r}")


def _check_sizes(graph: Any, path: str | Path) -> None:
    for tensor in graph.initializer:
        if any(extent < 0 for extent in tensor.dims) or math.prod(tensor.dims) > _MOST_PARAMETERS:
            raise ValueError(
                f"{path}: initializer {tensor.name!r}: dimensions {list(tensor.dims)} are not those of a weight"
            )
    for tensor in graph.input:
        for extent in tensor.type.tensor_type.shape.dim:
            if extent.HasField("dim_value") and extent.dim_value < 1:
                raise ValueError(f"{path}: input {tensor.name!r}: an extent of {extent.dim_value}")


def _check_rules(model: Any, path: str | Path) -> None:
    """By onnx.checker, shapes and types inferred too."""
    try:
        checker.check_model(_without_external_weights(model), full_check=True)
    except Exception as fault:  # ValidationError, InferenceError and what protobuf raises have no common parent
        raise ValueError(f"{path}: onnx.checker refuses the file: {fault}") from fault


def _without_external_weights(model: Any) -> Any:
    """A copy in which weights of other files, which need not be there, are inputs."""
    external = [x for x in model.graph.initializer if x.data_location == onnx.TensorProto.EXTERNAL]
    if not external:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    names = {x.name for x in external}
    for at in reversed(range(len(copy.graph.initializer))):
        if copy.graph.initializer[at].name in names:
            del copy.graph.initializer[at]
    given = {x.name for x in copy.graph.input}
    copy.graph.input.extend(
        helper.make_tensor_value_info(x.name, x.data_type, list(x.dims)) for x in external if x.name not in given
    )
    return copy
