"""The operators of torch that Penstock supports: a rule for each, from its tensors to its work per sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from . import rules
from .rules import Window, Work
from .tensors import Tensors, is_view, packet

aten = torch.ops.aten
Rule = Callable[[Tensors, fx.Node], "Work | None"]
TABLE: dict[Any, Rule] = {}


def _of(*names: str) -> Callable[[Rule], Rule]:
    def enter(rule: Rule) -> Rule:
        TABLE.update({getattr(aten, name): rule for name in names})
        return rule

    return enter


def work_of(t: Tensors, node: fx.Node) -> Work:
    """Work of a node by the table; of kind `profiled`, a FLOP per number, where the table has no rule for it."""
    rule = TABLE.get(packet(node))
    if is_view(node):
        work: Work | None = rules.reshape(t.elements(node))
    else:
        work = rule(t, node) if rule else None
    return work or _unknown(t, node)


# Functions of every number by itself, or of two tensors number by number.
_POINTWISE = {
    getattr(aten, name)
    for name in (
        "pow square sqrt rsqrt exp log neg abs silu softplus erf cos sin reciprocal clamp clamp_min clamp_max where "
        "masked_fill leaky_relu elu mish hardtanh log_sigmoid add sub rsub mul div maximum minimum addcmul lerp square "
        "relu6 expm1 log1p sign gt lt ge le eq ne logical_and logical_or logical_not bitwise_and bitwise_or"
    ).split()
}


def pointwise(t: Tensors, node: fx.Node) -> Work | None:
    """Work of a function of single numbers that has no kind of its own: a FLOP for each; it keeps its output."""
    operands = [x for x in node.all_input_nodes if t.computed(x)]
    if packet(node) not in _POINTWISE or not any(_alike(t, node, [x]) for x in operands):
        return None
    work = rules.product(t.elements(node), [t.needs(x) for x in operands])
    work.forward = t.elements(node)
    work.to_weights = t.elements(node) * any_parameter(t, node)
    return work


def _unknown(t: Tensors, node: fx.Node) -> Work:
    elements = t.elements(node)
    return rules.profiled(elements, elements, elements * t.needs(node), elements * any_parameter(t, node))


def any_parameter(t: Tensors, node: fx.Node) -> bool:
    return any(x in t.parameter for x in node.all_input_nodes)


def argument(node: fx.Node, position: int, name: str, otherwise: Any = None) -> Any:
    if len(node.args) > position:
        return node.args[position]
    return node.kwargs.get(name, otherwise)


def is_weight(t: Tensors, x: Any) -> bool:
    return isinstance(x, fx.Node) and t.role(x) == "parameter"


def dense_layer(t: Tensors, node: fx.Node) -> tuple[fx.Node, fx.Node, fx.Node | None] | None:
    """Input, weights and bias of a product of a tensor with weights, however torch writes it."""
    name, args = packet(node), node.args
    if name is aten.linear and is_weight(t, args[1]):
        return args[0], args[1], argument(node, 2, "bias")
    if name in (aten.matmul, aten.mm) and is_weight(t, args[1]) and len(t.shape(args[1])) == 2:
        return args[0], args[1], None
    if name is aten.addmm and is_weight(t, args[2]) and is_weight(t, args[0]):
        return args[1], args[2], args[0]
    return None


@_of("linear", "addmm", "mm", "matmul", "bmm", "baddbmm")
def _product(t: Tensors, node: fx.Node) -> Work | None:
    if layer := dense_layer(t, node):
        x, _, bias = layer
        rows = t.elements(x) // t.width(x)
        return rules.linear(rows, t.width(x), t.width(node), bias is not None, t.needs(x))
    a, b = node.args[1:3] if packet(node) is aten.baddbmm else node.args[:2]
    if packet(node) is aten.addmm or min(len(t.shape(a)), len(t.shape(b))) < 2:
        return None
    rows, inner, columns = t.shape(a)[-2], t.width(a), t.width(node)
    work = rules.matmul(t.elements(node) // (rows * columns), rows, inner, columns, [t.needs(a), t.needs(b)])
    work.to_weights = work.forward * (is_weight(t, a) or is_weight(t, b))
    if packet(node) is aten.baddbmm and work.to_weights:  # has a bias, too
        return rules.profiled(t.elements(node), work.forward, work.to_inputs, work.to_weights)
    return work


def _pair(value: Any) -> tuple[int, int]:
    values = [value] if isinstance(value, int) else list(value)
    return (values[0], values[-1])


@_of("conv1d", "conv2d", "conv3d", "convolution")
def _convolution(t: Tensors, node: fx.Node) -> Work | None:
    x, weight, bias = node.args[0], node.args[1], argument(node, 2, "bias")
    shape, kernel = t.shape(x), t.shape(weight)
    if not is_weight(t, weight):
        return None
    if len(shape) != 4:
        work = 2 * t.elements(node) * math.prod(kernel[1:])
        return rules.profiled(t.elements(node), work, work * t.needs(x), work)
    padding = argument(node, 4, "padding", 0)
    if isinstance(padding, str):
        padding = [k // 2 if padding == "same" else 0 for k in kernel[2:]]
    window = Window(shape[1], shape[2:], kernel[2:], _pair(argument(node, 3, "stride", 1) or 1), _pair(padding))
    work = 2 * t.elements(node) * math.prod(kernel[1:])
    plain = kernel[1] == shape[1] and window.output() == t.shape(node)[2:]
    if not plain or set(_pair(argument(node, 5, "dilation", 1) or 1)) != {1}:  # grouped, dilated, transposed
        return rules.profiled(t.elements(node), work, work * t.needs(x), work)
    return rules.convolution(window, kernel[0], bias is not None, t.needs(x))


@_of("embedding")
def _embedding(t: Tensors, node: fx.Node) -> Work | None:
    table, indices = node.args[:2]
    return rules.embedding(t.elements(indices), *t.shape(table)) if is_weight(t, table) else None


@_of("layer_norm", "rms_norm")
def _layer_norm(t: Tensors, node: fx.Node) -> Work | None:
    x, normed = node.args[:2]
    form = "rms" if packet(node) is aten.rms_norm else "layer"
    return rules.norm(t.elements(x), math.prod(normed), form, t.needs(x))


@_of("batch_norm")
def _batch_norm(t: Tensors, node: fx.Node) -> Work | None:
    x = node.args[0]
    return rules.norm(t.elements(x), t.shape(x)[1], "batch", t.needs(x))


@_of("relu", "sigmoid", "tanh", "gelu")
def _activation(t: Tensors, node: fx.Node) -> Work | None:
    function = next(name for name in rules.FUNCTIONS if packet(node) is getattr(aten, name))
    return rules.activation(t.elements(node), function, t.needs(node.args[0]))


def _operands(t: Tensors, node: fx.Node) -> list[fx.Node]:
    return [x for x in node.args[:2] if isinstance(x, fx.Node) and t.computed(x)]


def _alike(t: Tensors, node: fx.Node, operands: list[fx.Node]) -> bool:
    return all(t.elements(x) == t.elements(node) for x in operands)


@_of("add", "sub", "rsub")
def _sum(t: Tensors, node: fx.Node) -> Work | None:
    operands = _operands(t, node)
    if len(operands) == 2 and any(_alike(t, node, [x]) for x in operands):
        return rules.total(t.elements(node), 2)
    if not _alike(t, node, operands):
        return None
    work = rules.scaled(t.elements(node), False)  # the gradient is handed on
    work.to_weights = t.elements(node) * any_parameter(t, node)
    return work


@_of("mul", "div")
def _product_of_numbers(t: Tensors, node: fx.Node) -> Work | None:
    operands = _operands(t, node)
    if len(operands) == 2 and any(_alike(t, node, [x]) for x in operands):
        return rules.product(t.elements(node), [t.needs(x) for x in operands])
    if not _alike(t, node, operands):
        return None
    if any_parameter(t, node):  # whose gradient needs the input, so that the output cannot take its place
        return None
    return rules.scaled(t.elements(node), t.needs(operands[0]))


def _window(t: Tensors, node: fx.Node) -> Window:
    x, kernel = node.args[0], _pair(node.args[1])
    stride = argument(node, 2, "stride") or kernel
    return Window(t.shape(x)[1], t.shape(x)[2:], kernel, _pair(stride), _pair(argument(node, 3, "padding", 0)))


@_of("max_pool2d", "avg_pool2d")
def _pool(t: Tensors, node: fx.Node) -> Work | None:
    window = _window(t, node)
    average = packet(node) is aten.avg_pool2d
    dilation = _pair(argument(node, 4, "dilation", 1)) if not average else (1, 1)
    if window.output() != t.shape(node)[2:] or dilation != (1, 1):
        return None
    return rules.pool(window, math.prod(window.kernel), average, t.needs(node.args[0]))


@_of("adaptive_avg_pool2d")
def _adaptive_pool(t: Tensors, node: fx.Node) -> Work | None:
    x, size = node.args[0], t.shape(node)[2:]
    image = t.shape(x)[2:]
    stride = tuple(extent // cells for extent, cells in zip(image, size))
    kernel = tuple(extent - (cells - 1) * step for extent, cells, step in zip(image, size, stride))
    window = Window(t.shape(x)[1], image, kernel, stride, (0, 0))
    return rules.pool(window, max(1, t.elements(x) // t.elements(node)), True, t.needs(x))


@_of("softmax", "_softmax", "log_softmax")
def _softmax(t: Tensors, node: fx.Node) -> Work | None:
    width = t.shape(node)[node.args[1]]
    return rules.softmax(t.elements(node) // width, width, t.needs(node.args[0]))


@_of("cross_entropy_loss")
def _loss(t: Tensors, node: fx.Node) -> Work | None:
    logits = node.args[0]
    return rules.softmax(t.elements(logits) // t.width(logits), t.width(logits), t.needs(logits), loss=True)


@_of("cat")
def _concat(t: Tensors, node: fx.Node) -> Work | None:
    parts, shape = node.args[0], t.shape(node)
    axis = argument(node, 1, "dim", 0) % len(shape)
    if axis == 0:
        return None
    image = len(shape) == 4 and axis == 1  # channels-last in memory: whole pixels are joined
    rows = math.prod(shape[2:]) if image else math.prod(shape[1:axis])
    return rules.concat(rows, [t.elements(x) // rows for x in parts])


@_of("scaled_dot_product_attention")
def _bare_attention(t: Tensors, node: fx.Node) -> Work:
    """Without projections there is no kind for it: two products, which its backward pass runs twice."""
    query, key = node.args[:2]
    products = 4 * t.elements(query) * t.shape(key)[-2]
    return rules.profiled(t.elements(node), products, 2 * products * t.needs(node))


@_of("dropout")
def _dropout(t: Tensors, node: fx.Node) -> Work:
    """While training; it keeps a byte of mask for each number beside its output."""
    work = rules.profiled(t.elements(node), 2 * t.elements(node), t.elements(node) * t.needs(node))
    work.kept_bytes = t.elements(node)
    return work
