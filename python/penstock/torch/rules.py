"""Cost of an operator of each kind per sample: the conventions of models/layers.hpp, kept equal to them by tests.

A multiply-add is two FLOPs; biases are not counted. `needs` has for each operand whether a trainable operator comes before it, so
that its gradient is needed. `kept` counts numbers, not bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Work:
    """Kind, extents and work of an operator; what depends on its neighbours comes later."""

    kind: str
    shape: dict[str, int] = field(default_factory=dict)
    forward: int = 0  #: FLOPs
    to_inputs: int = 0  #: FLOPs of the gradients that are needed
    to_weights: int = 0  #: FLOPs
    kept: int = 0  #: numbers saved beyond the inputs
    kept_bytes: int = 0  #: bytes saved beside these, whatever a number's size
    gathered: int = 0  #: numbers of its parameters that a sample reads, where not all


@dataclass(frozen=True)
class Mixture:
    """Feed-forwards from `hidden` to `inner` and back, of which every row takes some."""

    rows: int
    hidden: int
    inner: int
    experts: int
    chosen: int  #: experts that a row takes
    gated: bool  #: two first matrices, whose results are multiplied
    bias: bool
    clamped: bool  #: what the first matrices make is clamped

    @property
    def first(self) -> int:
        """Width of what the first matrices of an expert make."""
        return (2 if self.gated else 1) * self.inner

    def parameters(self) -> int:
        each = self.hidden * (self.first + self.inner) + self.bias * (self.first + self.hidden)
        return self.experts * each

    def saved_numbers(self, element_bytes: int) -> int:
        """Rows sorted by expert with expert (64 bit) and share (fp32); what first matrices make, also clamped; output."""
        copies = self.rows * self.chosen
        products = copies * (self.first + self.inner + self.clamped * self.first)
        return copies * self.hidden + products + self.rows * self.hidden + copies * 12 // element_bytes


@dataclass(frozen=True)
class Window:
    """A window over channels x height x width."""

    channels: int
    image: tuple[int, ...]  # height, width, as those below
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    def output(self) -> tuple[int, ...]:
        return tuple(
            (extent + 2 * pad - kernel) // stride + 1
            for extent, kernel, stride, pad in zip(self.image, self.kernel, self.stride, self.padding)
        )

    def extents(self) -> dict[str, int]:
        out = {}
        for axis, name in enumerate(("height", "width")):
            for key in ("kernel", "stride", "padding"):
                out[f"{key}_{name}"] = getattr(self, key)[axis]
        return out


# FLOPs per element, forward and backward, and whether the output takes the input's place.
FUNCTIONS = {"relu": (1, 1, True), "sigmoid": (4, 3, True), "tanh": (4, 3, True), "gelu": (8, 12, False)}
_NORM_FORWARD, _NORM_BACKWARD, _NORM_WEIGHTS, _SOFTMAX = 8, 8, 4, 5
_RMS_FORWARD, _RMS_WEIGHTS, _SWIGLU_FORWARD, _SWIGLU_BACKWARD = 4, 2, 6, 12


def linear(rows: int, width: int, out: int, bias: bool, needs: bool) -> Work:
    work = 2 * rows * width * out
    shape = {"rows": rows, "in": width, "out": out, "bias": int(bias)}
    return Work("linear", shape, work, work * needs, work, rows * out)


def convolution(window: Window, out: int, bias: bool, needs: bool) -> Work:
    height, width = window.output()
    weights = window.channels * window.kernel[0] * window.kernel[1]  # of one output channel
    work = 2 * out * height * width * weights
    shape = {"in": window.channels, "height": window.image[0], "width": window.image[1], "out": out}
    shape |= window.extents() | {"bias": int(bias)}
    return Work("convolution", shape, work, work * needs, work, out * height * width)


def matmul(batch: int, rows: int, inner: int, columns: int, needs: Sequence[bool]) -> Work:
    work = 2 * batch * rows * inner * columns
    shape = {"batch": batch, "rows": rows, "inner": inner, "columns": columns}
    return Work("matmul", shape, work, work * sum(needs), 0, batch * rows * columns)


def experts(mixture: Mixture, needs: bool, element_bytes: int) -> Work:
    """Layers::experts of models/layers.cpp: work between an expert's matrices is not counted."""
    m = mixture
    work = 2 * m.rows * m.chosen * m.hidden * (m.first + m.inner)
    shape = {"rows": m.rows, "hidden": m.hidden, "inner": m.inner, "experts": m.experts, "chosen": m.chosen}
    shape |= {"gated": int(m.gated), "bias": int(m.bias), "clamped": int(m.clamped)}
    return Work("experts", shape, work, work * needs, work, m.saved_numbers(element_bytes))


def embedding(lookups: int, rows: int, width: int) -> Work:
    gathered = lookups * width
    shape = {"lookups": lookups, "rows": rows, "width": width}
    return Work("embedding", shape, 0, 0, gathered, gathered, gathered=gathered)


def norm(elements: int, channels: int, form: str, needs: bool) -> Work:
    """`form`: layer, batch (whose statistics are per batch, not per sample) or rms."""
    shape = {"elements": elements, "channels": channels} | ({form: 1} if form != "layer" else {})
    forward, weights = (_RMS_FORWARD, _RMS_WEIGHTS) if form == "rms" else (_NORM_FORWARD, _NORM_WEIGHTS)
    statistics = {"layer": 2, "batch": 0, "rms": 1}[form] * (elements // channels)
    return Work(
        "norm", shape, forward * elements, _NORM_BACKWARD * elements * needs, weights * elements, elements + statistics
    )


def activation(elements: int, function: str, needs: bool) -> Work:
    forward, backward, in_place = FUNCTIONS[function]
    shape = {"elements": elements, function: 1}
    return Work("activation", shape, forward * elements, backward * elements * needs, 0, 0 if in_place else elements)


def swiglu(elements: int, needs: bool) -> Work:
    """Swish of one tensor times another, as one kernel; `elements` of its output."""
    shape = {"elements": elements, "swiglu": 1}
    return Work("activation", shape, _SWIGLU_FORWARD * elements, _SWIGLU_BACKWARD * elements * needs, 0, elements)


def total(elements: int, terms: int) -> Work:
    """A sum of tensors; backward hands the gradient on. If it lies on a term is decided later."""
    shape = {"elements": elements, "terms": terms}
    return Work("elementwise", shape, (terms - 1) * elements, 0, 0, elements)


def product(elements: int, needs: Sequence[bool]) -> Work:
    shape = {"elements": elements, "terms": len(needs), "product": 1}
    return Work("elementwise", shape, (len(needs) - 1) * elements, elements * sum(needs), 0, elements)


def scaled(elements: int, needs: bool) -> Work:
    """By numbers that are no operand; no gradient needs its output, which takes the input's place."""
    shape = {"elements": elements, "terms": 1}
    return Work("elementwise", shape, elements, elements * needs, 0, 0)


def pool(window: Window, work_per_output: int, average: bool, needs: bool) -> Work:
    height, width = window.output()
    elements = window.channels * height * width
    shape = {"elements": elements, "window": work_per_output, "channels": window.channels}
    shape |= {"height": window.image[0], "width": window.image[1]} | window.extents() | {"average": int(average)}
    work = elements * work_per_output
    # A byte per output stores which input of a window was the largest.
    return Work("pool", shape, work, work * needs, 0, elements, 0 if average else elements)


def softmax(rows: int, width: int, needs: bool, loss: bool = False) -> Work:
    work = _SOFTMAX * rows * width
    kept = {"kept_bytes": 4 * rows * width} if loss else {"kept": rows * width}
    return Work("softmax", {"rows": rows, "width": width, "loss": int(loss)}, work, work * needs, 0, **kept)


def concat(rows: int, widths: Sequence[int]) -> Work:
    elements = rows * sum(widths)
    parts = {f"part{i}": width for i, width in enumerate(widths)}
    return Work("concat", {"elements": elements, "parts": len(widths), "rows": rows} | parts, kept=elements)


def reshape(elements: int) -> Work:
    return Work("reshape", {"elements": elements})


def profiled(elements: int, forward: int, to_inputs: int, to_weights: int = 0) -> Work:
    """An operator of no kind above; `elements` of its output are kept."""
    return Work("profiled", {}, forward, to_inputs, to_weights, elements)
