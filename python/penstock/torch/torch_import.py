"""A PyTorch module becomes a model."""

from __future__ import annotations

from collections import Counter

import torch

from .capture import Capture, Examples, capture
from .groups import Group, Grouping, gather
from .in_place import with_sums_in_place
from .model import Model, Operator
from .naming import word_for


def from_torch(module: torch.nn.Module, example_inputs: Examples, name: str | None = None) -> Model:
    """Reads a module by torch.export, in the mode (training or evaluation) in which it is.

    `example_inputs`: tensors as `module` takes them, a sequence or a mapping by name; the first axis of the first one
    counts samples, and sizes are divided by it. Tensors may lie on the device "meta".
    Raises ValueError for other inputs, and what torch.export raises where it cannot follow the module.
    """
    captured = capture(module, example_inputs)
    return model_of(captured, gather(captured), name or type(module).__name__)


def model_of(captured: Capture, grouping: Grouping, name: str) -> Model:
    """The model of what was captured and gathered."""
    owners: dict[int, str] = {}  # first user of a parameter, by its identity
    operators, notes = [], _notes(grouping)
    for group in grouping.groups:
        operators.append(_operator(grouping, group, owners, notes))
    returned = {grouping.of[x].name for x in _returned(captured) if x in grouping.of}
    return Model(name, _number_bytes(captured), with_sums_in_place(operators, returned), tuple(notes))


def _returned(captured: Capture) -> list[torch.fx.Node]:
    return next(node for node in captured.graph.graph.nodes if node.op == "output").all_input_nodes


def _number_bytes(captured: Capture) -> int:
    sizes = Counter(p.element_size() for p in captured.module.parameters() if p.is_floating_point())
    return sizes.most_common(1)[0][0] if sizes else 4


def _operator(grouping: Grouping, group: Group, owners: dict[int, str], notes: list[str]) -> Operator:
    t, work = grouping.tensors, group.work
    trained = [t.parameter[w] for w in group.weights if t.parameter[w].requires_grad]
    own = [p for p in trained if owners.setdefault(id(p), group.name) == group.name]
    borrowed = [p for p in trained if owners[id(p)] != group.name]
    if borrowed and own:
        notes.append(f"{group.name} shares a part of its parameters; {sum(p.numel() for p in own):,} are not counted")
    size = t.number_bytes(group.anchor)
    return Operator(
        name=group.name,
        kind=work.kind,
        inputs=tuple(grouping.of[x].name for x in group.operands),
        shape=work.shape,
        forward_flops=work.forward,
        input_gradient_flops=work.to_inputs,
        weight_gradient_flops=work.to_weights if trained else 0,
        parameters=0 if borrowed else sum(p.numel() for p in own),
        parameters_of=owners[id(max(borrowed, key=torch.Tensor.numel))] if borrowed else "",
        gathered_parameters=work.gathered,
        output_bytes=t.bytes(group.anchor),
        kept_bytes=work.kept * size + work.kept_bytes,
    )


def _notes(grouping: Grouping) -> list[str]:
    """Questions that the reading left open."""
    t, notes = grouping.tensors, []
    unknown = Counter(word_for(group.anchor) for group in grouping.groups if group.work.kind == "profiled")
    if unknown:
        listed = ", ".join(f"{count} {name}" for name, count in sorted(unknown.items()))
        notes.append(f"profiled, with sizes and rough FLOPs (penstock.torch.profile measures them): {listed}")
    frozen = {id(p): p.numel() for p in t.parameter.values() if not p.requires_grad}
    if frozen:
        notes.append(f"{sum(frozen.values()):,} numbers are frozen and not counted as parameters")
    return notes
