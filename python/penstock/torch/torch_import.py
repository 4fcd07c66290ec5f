"""A PyTorch module becomes a model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import torch

from .capture import Capture, Examples, capture
from .groups import Group, Grouping, gather
from .in_place import with_sums_in_place
from .layers import Stack, repeated
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


def model_of(
    captured: Capture, grouping: Grouping, name: str, stack: Stack | None = None, split_ties: bool = False
) -> Model:
    """The model of what was captured and gathered.

    `stack`: layers of which some were left out of the capture; all are written down. `split_ties`: the own bias of a
    layer with shared weights becomes an operator.
    """
    owners: dict[int, str] = {}  # first user of a parameter, by its identity
    renamed: dict[str, str] = {}  # operators of which readers read another
    operators: list[Operator] = []
    notes: list[str] = []
    for group in grouping.groups:
        found = _operator(grouping, group, owners, renamed)
        operators += _with_own_bias(found, renamed, notes, split_ties)
    if stack:
        operators = repeated(operators, stack)
    returned = {grouping.of[x].name for x in _returned(captured) if x in grouping.of}
    notes += _notes(grouping, operators)
    return Model(name, _number_bytes(captured), with_sums_in_place(operators, returned), tuple(notes))


def _returned(captured: Capture) -> list[torch.fx.Node]:
    return next(node for node in captured.graph.graph.nodes if node.op == "output").all_input_nodes


def _number_bytes(captured: Capture) -> int:
    sizes = Counter(p.element_size() for p in captured.module.parameters() if p.is_floating_point())
    return sizes.most_common(1)[0][0] if sizes else 4


@dataclass(frozen=True)
class _Found:
    """An operator, and numbers of its own beside parameters that it shares."""

    operator: Operator
    own: int = 0


def _operator(grouping: Grouping, group: Group, owners: dict[int, str], renamed: dict[str, str]) -> _Found:
    t, work = grouping.tensors, group.work
    trained = [t.parameter[w] for w in group.weights if t.parameter[w].requires_grad]
    own = [p for p in trained if owners.setdefault(id(p), group.name) == group.name]
    borrowed = [p for p in trained if owners[id(p)] != group.name]
    size, numbers = t.number_bytes(group.anchor), sum(p.numel() for p in own)
    read = [grouping.of[x].name for x in group.operands]
    operator = Operator(
        name=group.name,
        kind=work.kind,
        inputs=tuple(renamed.get(x, x) for x in read),
        shape=work.shape,
        forward_flops=work.forward,
        input_gradient_flops=work.to_inputs,
        weight_gradient_flops=work.to_weights if trained else 0,
        parameters=0 if borrowed else numbers,
        parameters_of=owners[id(max(borrowed, key=torch.Tensor.numel))] if borrowed else "",
        gathered_parameters=work.gathered,
        output_bytes=t.bytes(group.anchor),
        kept_bytes=work.kept * size + work.kept_bytes,
    )
    return _Found(operator, numbers if borrowed else 0)


def _with_own_bias(found: _Found, renamed: dict[str, str], notes: list[str], split: bool) -> list[Operator]:
    """A dense layer that shares its matrix but not its bias; with `split`, the bias is an operator behind it."""
    op = found.operator
    if not found.own:
        return [op]
    if not split or op.kind != "linear" or found.own != op.shape["out"]:
        notes.append(f"{op.name} shares a part of its parameters; {found.own:,} are not counted")
        return [op]
    elements = op.shape["rows"] * op.shape["out"]
    bias = Operator(
        name=f"{op.name}.bias",
        kind="elementwise",
        inputs=(op.name,),
        shape={"elements": elements, "terms": 1},
        forward_flops=elements,
        weight_gradient_flops=elements,
        parameters=found.own,
        output_bytes=op.output_bytes,
    )
    renamed[op.name] = bias.name
    return [replace(op, shape=op.shape | {"bias": 0}), bias]


def _notes(grouping: Grouping, operators: list[Operator]) -> list[str]:
    """Questions that the reading left open."""
    t, notes = grouping.tensors, [f"{doubt}; its work is not known" for doubt in grouping.doubts]
    if grouping.unknown_masks:
        notes.append("masks other than none, causal, window and blocks were found: these attentions count all pairs")
    words = {group.name: word_for(group.anchor) for group in grouping.groups}
    profiled = [op.name for op in operators if op.kind == "profiled"]
    unknown = Counter(words.get(name, name.rpartition(".")[2]) for name in profiled)
    if unknown:
        listed = ", ".join(f"{count} {name}" for name, count in sorted(unknown.items()))
        notes.append(f"profiled, with sizes and rough FLOPs (penstock.torch.profile measures them): {listed}")
    frozen = {id(p): p.numel() for p in t.parameter.values() if not p.requires_grad}
    if frozen:
        notes.append(f"{sum(frozen.values()):,} numbers are frozen and not counted as parameters")
    return notes
