"""The operators of ONNX that Penstock supports: a rule for each, from its tensors to its work per sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import rules
from .onnx_graph import VIEWS, OnnxGraph, attribute
from .rules import Window, Work

Rule = Callable[[OnnxGraph, Any, "list[bool]"], "Work | None"]
TABLE: dict[str, Rule] = {}


def _of(*names: str) -> Callable[[Rule], Rule]:
    def enter(rule: Rule) -> Rule:
        TABLE.update(dict.fromkeys(names, rule))
        return rule

    return enter


def work_of(g: OnnxGraph, node: Any, needs: list[bool]) -> Work:
    """`needs`: for each operand that is computed. Kind `profiled`, a FLOP per number, without a rule."""
    elements = g.elements(node.output[0])
    if node.op_type in VIEWS:
        return rules.reshape(elements)
    rule = TABLE.get(node.op_type)
    work = rule(g, node, needs) if rule else None
    weighs = any(g.is_weight(x) for x in node.input)
    return work or rules.profiled(elements, elements, elements * any(needs), elements * weighs)


@_of("Conv")
def _convolution(g: OnnxGraph, node: Any, needs: list[bool]) -> Work | None:
    x, kernel = g.shape(node.input[0]), g.shape(node.input[1])
    if len(x) != 4:
        return None
    window = _window(node, x, kernel[2:])
    work = 2 * g.elements(node.output[0]) * math.prod(kernel[1:])
    if kernel[1] != x[1] or window is None or window.output() != g.shape(node.output[0])[2:]:  # grouped, dilated, ...
        return rules.profiled(g.elements(node.output[0]), work, work * needs[0], work)
    bias = len(node.input) > 2 and g.is_weight(node.input[2])
    return rules.convolution(window, kernel[0], bias, needs[0])


def _window(node: Any, x: tuple[int, ...], kernel: tuple[int, ...]) -> Window | None:
    """None where both sides are padded unlike or the window is dilated."""
    pads = tuple(attribute(node, "pads", [0] * 4))
    if pads[:2] != pads[2:] or set(attribute(node, "dilations", [1, 1])) != {1}:
        return None
    return Window(x[1], x[2:], tuple(kernel), tuple(attribute(node, "strides", [1, 1])), pads[:2])


@_of("MaxPool", "AveragePool")
def _pool(g: OnnxGraph, node: Any, needs: list[bool]) -> Work | None:
    kernel = tuple(attribute(node, "kernel_shape"))
    window = _window(node, g.shape(node.input[0]), kernel) if len(kernel) == 2 else None
    if window is None or window.output() != g.shape(node.output[0])[2:]:
        return None
    return rules.pool(window, math.prod(kernel), node.op_type == "AveragePool", needs[0])


@_of("GlobalAveragePool", "ReduceMean")
def _global_pool(g: OnnxGraph, node: Any, needs: list[bool]) -> Work | None:
    x, out = g.shape(node.input[0]), g.shape(node.output[0])
    if len(x) != 4 or out[:2] != x[:2] or math.prod(out[2:]) != 1:
        return None
    window = Window(x[1], x[2:], x[2:], x[2:], (0, 0))
    return rules.pool(window, math.prod(x[2:]), True, needs[0])


@_of("Gemm", "MatMul")
def _product(g: OnnxGraph, node: Any, needs: list[bool]) -> Work | None:
    a, b = node.input[:2]
    width, columns = g.shape(a)[-1], g.shape(node.output[0])[-1]
    if g.is_weight(b) and len(g.shape(b)) == 2 and not attribute(node, "transA", 0):
        return rules.linear(g.elements(a) // width, width, columns, len(node.input) > 2, needs[0])
    if len(needs) < 2 or min(len(g.shape(a)), len(g.shape(b))) < 2:
        return None
    rows = g.shape(a)[-2]
    return rules.matmul(g.elements(node.output[0]) // (rows * columns), rows, width, columns, needs)


@_of("Gather")
def _embedding(g: OnnxGraph, node: Any, needs: list[bool]) -> Work | None:
    table, indices = node.input
    if not g.is_weight(table) or len(g.shape(table)) != 2 or attribute(node, "axis", 0) != 0:
        return None
    return rules.embedding(g.elements(indices), *g.shape(table))


@_of("BatchNormalization", "LayerNormalization", "RMSNormalization")
def _norm(g: OnnxGraph, node: Any, needs: list[bool]) -> Work:
    x, form = node.input[0], {"B": "batch", "L": "layer", "R": "rms"}[node.op_type[0]]
    channels = g.shape(x)[1] if form == "batch" else math.prod(g.shape(node.input[1]))
    return rules.norm(g.elements(x), channels, form, needs[0])


@_of("Relu", "Sigmoid", "Tanh", "Gelu")
def _activation(g: OnnxGraph, node: Any, needs: list[bool]) -> Work:
    return rules.activation(g.elements(node.output[0]), node.op_type.lower(), needs[0])


@_of("Add", "Sub", "Sum")
def _sum(g: OnnxGraph, node: Any, needs: list[bool]) -> Work | None:
    elements = g.elements(node.output[0])
    if any(g.elements(x) != elements for x in node.input if g.computed(x)):
        return None
    work = rules.total(elements, len(needs)) if len(needs) > 1 else rules.scaled(elements, False)
    work.to_weights = elements * any(g.is_weight(x) for x in node.input)
    return work


@_of("Mul", "Div")
def _product_of_numbers(g: OnnxGraph, node: Any, needs: list[bool]) -> Work | None:
    elements = g.elements(node.output[0])
    if any(g.elements(x) != elements for x in node.input if g.computed(x)):
        return None
    # An initializer of one number is a scale; a larger one is trained, and needs the input for its gradient.
    if any(g.is_weight(x) and g.numbers(x) > 1 for x in node.input):
        return None
    return rules.product(elements, needs) if len(needs) > 1 else rules.scaled(elements, needs[0])


@_of("Softmax", "LogSoftmax")
def _softmax(g: OnnxGraph, node: Any, needs: list[bool]) -> Work:
    out = node.output[0]
    width = g.shape(out)[attribute(node, "axis", -1)]
    return rules.softmax(g.elements(out) // width, width, needs[0])


@_of("Concat")
def _concat(g: OnnxGraph, node: Any, needs: list[bool]) -> Work | None:
    shape = g.shape(node.output[0])
    axis = attribute(node, "axis") % len(shape)
    if axis == 0:
        return None
    image = len(shape) == 4 and axis == 1  # channels-last in memory: whole pixels are joined
    rows = math.prod(shape[2:]) if image else math.prod(shape[1:axis])
    return rules.concat(rows, [g.elements(x) // rows for x in node.input])
