"""A model: operators with their sizes per sample, and its file form (docs/formats/model.md)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Operator:
    """One operator. FLOPs, numbers and bytes are per sample."""

    name: str
    kind: str  #: of docs/formats/model.md
    inputs: tuple[str, ...] = ()  #: operators whose outputs it reads, in the order of its arguments
    shape: dict[str, int] = field(default_factory=dict)  #: extents of its kind
    forward_flops: int = 0
    input_gradient_flops: int = 0
    weight_gradient_flops: int = 0
    parameters: int = 0  #: trainable numbers
    parameters_of: str = ""  #: operator before it whose parameters it uses
    gathered_parameters: int = 0  #: numbers read where a pass reads only part of them
    output_bytes: int = 0
    kept_bytes: int = 0  #: saved activations beyond its inputs

    def to_dict(self) -> dict[str, Any]:
        """Entry of the operator in a model file; what is 0 or empty is left out."""
        values = dict(vars(self), inputs=list(self.inputs), shape=dict(self.shape))
        values["shape"] = {key: value for key, value in self.shape.items() if value or key in _ZERO_TOO}
        return {key: value for key, value in values.items() if value}


_ZERO_TOO = ("padding_height", "padding_width")  # a padding of zero is one


@dataclass(frozen=True)
class Model:
    """A network as a directed acyclic graph of operators, in topological order."""

    name: str
    element_bytes: int  #: of one number: 4 is fp32
    operators: tuple[Operator, ...]
    notes: tuple[str, ...] = ()  #: facts about the reading for a reader, one sentence each

    def operator(self, name: str) -> Operator:
        """The operator of that name; KeyError where there is none."""
        found = [op for op in self.operators if op.name == name]
        if not found:
            raise KeyError(f"model {self.name} has no operator {name!r}")
        return found[0]

    def total(self, quantity: str) -> int:
        """Sum of a field over all operators, for instance `total("parameters")`."""
        return sum(getattr(op, quantity) for op in self.operators)

    def to_dict(self) -> dict[str, Any]:
        return {
            "penstock": "model",
            "version": 2,
            "name": self.name,
            "element_bytes": self.element_bytes,
            "operators": [op.to_dict() for op in self.operators],
        }

    def write(self, path: str | Path) -> Path:
        """Writes the model file, whose name ends in .json; every command of Penstock takes it."""
        path = Path(path)
        if path.suffix != ".json":
            raise ValueError(f"{path}: the name of a model file that is written here ends in .json")
        path.write_text(self.text(), encoding="utf-8")
        return path

    def text(self) -> str:
        """Content of the model file: JSON, a line for each operator."""
        lines = ",\n".join("    " + json.dumps(op.to_dict()) for op in self.operators)
        head = {key: value for key, value in self.to_dict().items() if key != "operators"}
        return json.dumps(head, indent=2)[:-2] + f',\n  "operators": [\n{lines}\n  ]\n}}\n'

    def summary(self) -> str:
        """Kinds and totals, then the notes; `profiled` are those of no kind that Penstock has."""
        kinds = Counter(op.kind for op in self.operators)
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        flops = sum(self.total(f"{which}_flops") for which in ("forward", "input_gradient", "weight_gradient"))
        lines = [
            f"{self.name}: {len(self.operators)} operators ({counts})",
            f"  {self.total('parameters'):,} parameters, {flops:,} FLOPs and "
            f"{self.total('kept_bytes'):,} saved bytes per sample",
        ]
        return "\n".join(lines + [f"  {note}" for note in self.notes])
