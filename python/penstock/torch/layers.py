"""Deep stacks of equal layers: two of each kind are exported, and the others are written down as these are.

A skipped layer returns its input. Two layers are of one kind if all that could change their graphs is equal.
That is classes, sizes of parameters and buffers, plain attributes, and the entries of the config's lists. The second exported layer of a kind must equal the first,
operator by operator; otherwise nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from .model import Operator

_FEWEST = 5  # layers of a stack that is worth it
_PLAIN = (int, float, bool, str, type(None))
_BY_PLACE = ("layer_idx", "layer_index", "layer_id", "idx", "layer_number")  # attributes that differ in every layer


class CannotRepeat(Exception):
    """Layers that depend on one another in more than the tensor that goes through."""


@dataclass(frozen=True)
class Stack:
    """`path` of a ModuleList, and for each of its layers the number of an exported layer of its kind."""

    path: str
    like: tuple[int, ...]

    @property
    def exported(self) -> list[int]:
        """Layers that are exported: the first two of each kind."""
        return [i for i, kind in enumerate(self.like) if self.like[:i].count(kind) < 2]


def find_stack(module: nn.Module, config: Any) -> Stack | None:
    """The longest list of layers that has more than two of a kind."""
    lists = [(path, x) for path, x in module.named_modules() if isinstance(x, nn.ModuleList) and len(x) >= _FEWEST]
    if not lists:
        return None
    path, layers = max(lists, key=lambda each: len(each[1]))
    kinds = [(_kind(layer), _entries(config, len(layers), i)) for i, layer in enumerate(layers)]
    like = tuple(kinds.index(kind) for kind in kinds)
    stack = Stack(path, like)
    return stack if len(stack.exported) < len(layers) else None


def _kind(layer: nn.Module) -> tuple[Any, ...]:
    return tuple((name, type(x).__name__, _plain(x), _sizes(x)) for name, x in layer.named_modules())


def _plain(module: nn.Module) -> str:
    """Attributes of numbers and words, also in lists; the place of a layer is no part of its kind."""
    values = {k: v for k, v in vars(module).items() if not k.startswith("_") and k not in _BY_PLACE}
    return repr({k: v for k, v in values.items() if _is_plain(v)})


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(x) for x in value)
    return isinstance(value, (*_PLAIN, torch.dtype))


def _sizes(module: nn.Module) -> str:
    tensors = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
    return repr([(name, tuple(x.shape), x.dtype, x.requires_grad) for name, x in tensors])


def _entries(config: Any, layers: int, place: int) -> str:
    """Content of a config's lists for one layer: lists with an entry per layer, and lists of layer numbers."""
    lists = {k: list(v) for k, v in vars(config).items() if isinstance(v, (list, tuple))}
    by_layer = {k: v[place] for k, v in lists.items() if len(v) == layers and v != list(range(layers))}
    return repr([by_layer, {k: place in v for k, v in lists.items()}])


@contextmanager
def skipped(module: nn.Module, stack: Stack) -> Iterator[None]:
    """Layers that are not exported return what they take, in the form in which layers of the stack return it."""
    layers = list(module.get_submodule(stack.path))
    away = [layer for i, layer in enumerate(layers) if i not in stack.exported]
    forms: list[Any] = []
    hook = layers[0].register_forward_hook(lambda _layer, _args, made: forms.append(made))

    def through(*args: Any, **kwargs: Any) -> Any:
        taken = args[0] if args else kwargs["hidden_states"]
        return _in_form(forms[-1], taken)

    try:
        for layer in away:
            layer.forward = through
        yield
    finally:
        hook.remove()
        for layer in away:
            del layer.forward


def _in_form(made: Any, taken: torch.Tensor) -> Any:
    """`taken` in the place of the one tensor that a layer made."""
    if isinstance(made, torch.Tensor):
        found = made
        out: Any = taken
    elif isinstance(made, tuple) and all(x is None for x in made[1:]):
        found, out = made[0], (taken, *made[1:])
    else:
        raise CannotRepeat("a layer makes several tensors")
    if not isinstance(taken, torch.Tensor) or taken.shape != found.shape:
        raise CannotRepeat("a layer changes the shape of what goes through")
    return out


def repeated(operators: Sequence[Operator], stack: Stack) -> list[Operator]:
    """The operators of all layers, by those of the exported ones. Raises CannotRepeat."""
    parts = _Parts(operators, stack)
    last = parts.entries[stack.exported[0]]
    out = [*parts.head]
    for place, kind in enumerate(stack.like):
        template = parts.template(place, kind)
        layer, last = parts.copy(template, place, last)
        out += layer
    return out + [_renamed(op, {parts.end: last}) for op in parts.tail]


class _Parts:
    """Operators before, in and after the exported layers."""

    def __init__(self, operators: Sequence[Operator], stack: Stack):
        self._stack = stack
        self.head: list[Operator] = []
        self.tail: list[Operator] = []
        self.layers: dict[int, list[Operator]] = {i: [] for i in stack.exported}
        self._home: dict[str, int] = {}
        for op in operators:
            self._place(op)
        self.entries = {i: self._entry(i) for i in stack.exported}
        self.end = self._read_outside(stack.exported[-1])
        self._check()

    def _place(self, op: Operator) -> None:
        place = self._layer_of(op.name)
        if place is not None:
            self.layers[place].append(op)
            self._home[op.name] = place
        elif any(self._after_layers(x) for x in op.inputs):
            self.tail.append(op)
        else:
            self.head.append(op)

    def _after_layers(self, name: str) -> bool:
        return name in self._home or any(op.name == name for op in self.tail)

    def _layer_of(self, name: str) -> int | None:
        prefix = self._stack.path + "."
        word = name[len(prefix) :].split(".")[0] if name.startswith(prefix) else ""
        return int(word) if word.isdigit() and int(word) in self.layers else None

    def _entry(self, place: int) -> str:
        """The tensor that goes into a layer: made by the exported layer before it, or before the first one."""
        exported = self._stack.exported
        index = exported.index(place)
        outside = {x for op in self.layers[place] for x in op.inputs if self._home.get(x) != place}
        if index > 0:
            found = {x for x in outside if self._home.get(x) == exported[index - 1]}
            if len(found) != 1 or any(self._home.get(x) not in (None, exported[index - 1]) for x in outside):
                raise CannotRepeat(f"layer {place} reads several tensors of layers before it")
            return next(iter(found))
        return self._first_entry(outside)

    def _first_entry(self, outside: set[str]) -> str:
        """The operator outside that only the first layer reads."""
        others = {x for place, ops in self.layers.items() if place != self._stack.exported[0] for op in ops for x in op.inputs}
        found = outside - others
        if len(found) != 1:
            raise CannotRepeat("the first layer reads several tensors that others do not read")
        return next(iter(found))

    def _read_outside(self, place: int) -> str:
        found = {x for op in self.tail for x in op.inputs if self._home.get(x) is not None}
        if len(found) != 1 or self._home[next(iter(found))] != place:
            raise CannotRepeat("operators behind the layers read more than the last layer")
        return next(iter(found))

    def template(self, place: int, kind: int) -> int:
        """The exported layer that a layer is written down by: itself, or the second one of its kind."""
        if place in self.layers:
            return place
        return [i for i in self.layers if self._stack.like[i] == kind][-1]

    def copy(self, template: int, place: int, entry: str) -> tuple[list[Operator], str]:
        """Operators of a layer by an exported one, and the name of what it makes."""
        names = {op.name: self._name_in(op.name, template, place) for op in self.layers[template]}
        names[self.entries[template]] = entry
        made = [_renamed(op, names) for op in self.layers[template]]
        return made, names[self._made_by(template)]

    def _name_in(self, name: str, template: int, place: int) -> str:
        before, after = (f"{self._stack.path}.{i}" for i in (template, place))
        return after + name[len(before) :]

    def _made_by(self, place: int) -> str:
        exported = self._stack.exported
        index = exported.index(place) + 1
        return self.entries[exported[index]] if index < len(exported) else self.end

    def _check(self) -> None:
        """The first layer of a kind predicts the second."""
        for place in self._stack.exported:
            first = self._stack.like[place]
            if first != place:
                predicted, made = self.copy(first, place, self.entries[place])
                if predicted != self.layers[place] or made != self._made_by(place):
                    raise CannotRepeat(f"layers {first} and {place} differ in their operators")


def _renamed(op: Operator, names: dict[str, str]) -> Operator:
    return replace(
        op,
        name=names.get(op.name, op.name),
        inputs=tuple(names.get(x, x) for x in op.inputs),
        parameters_of=names.get(op.parameters_of, op.parameters_of),
    )
