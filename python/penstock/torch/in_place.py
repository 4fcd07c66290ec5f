"""Sums that are written over one of their terms: graph/in_place.cpp's rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace

from .model import Operator

_LAYERS = ("linear", "convolution", "attention", "embedding", "norm")


def with_sums_in_place(operators: Iterable[Operator], returned: Collection[str] = ()) -> tuple[Operator, ...]:
    """A sum keeps nothing where it replaces a term of a layer or norm that has no other reader.

    `returned`: operators whose outputs leave the model, which counts as a reader.
    """
    operators = list(operators)
    readers = Counter(x for op in operators for x in op.inputs) + Counter(returned)
    layers = {op.name for op in operators if op.kind in _LAYERS}
    out = []
    for op in operators:
        sum_of_tensors = op.kind == "elementwise" and len(op.inputs) > 1 and not op.shape.get("product")
        if sum_of_tensors and any(x in layers and readers[x] == 1 for x in op.inputs):
            op = replace(op, kept_bytes=0)
        out.append(op)
    return tuple(out)
