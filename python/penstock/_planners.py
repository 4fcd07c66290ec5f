"""Planners written in Python, and the stages that they reason about."""

from __future__ import annotations

import inspect
import json
import traceback
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from . import _core
from ._inputs import _text
from .errors import BadInput, Error, Infeasible

Stages = Iterable[Mapping[str, object]]
#: From a problem to a plan or its stages; may have a parameter `micro_batch`, which is what the caller pins, or None.
Function = Callable[..., "_core.Plan | Stages"]
F = TypeVar("F", bound=Function)

_functions: dict[str, Function] = {}
#: By planner, what its function raised the last time; errors of the search have it as their cause.
_raised: dict[str, BaseException] = {}


def planner(name: str) -> Callable[[F], F]:
    """Registers a function from a Problem to a plan as a planner for plan(), compare() and run() of this process.

    ::

        @ps.planner("halves")
        def halves(problem): ...

    The function returns a Plan, or the stages of one as Plan.from_stages takes them. If no plan fits, it raises Infeasible.
    Threads of the search call it, several at a time in run(). Its plan is checked, simulated and listed like other plans. Its
    exceptions become BadInput with the planner's name. Ctrl-C and limits end it by KeyboardInterrupt.

    A parameter `micro_batch` receives the size that the caller pins, or None. Without such a parameter, a plan must have the pinned
    size. Further parameters with a default are options of the planner. The type of the default decides their type: numbers, texts,
    True or False. A Literal annotation lists the words of a text. Defaults of other types are not options. Callers write
    options={"cut": 3}, or "halves:cut=3".

    A name may be registered again; the last function counts. `joint` does not begin at its answers.

    Args:
        name: Letters, digits and "_".

    Raises:
        BadInput: Penstock has a planner of that name, the name has other characters, or a parameter cannot be an option.
    """

    def register(function: F) -> F:
        options = _options_of(name, function)
        summary = (inspect.getdoc(function) or name).splitlines()[0]
        _core.add_planner(name, summary, [(option.name, option.standard, option.values, option.words) for option in options])
        _functions[name], _options[name] = function, {option.name: option for option in options}
        return function

    return register


class Option(NamedTuple):
    """A parameter of a planner's function; `words` describes a value where it is none of `values`."""

    name: str
    standard: str
    values: list[str]
    words: str
    kind: type

    def read(self, text: str) -> object:
        """Returns the argument of the function for an option's text."""
        if self.kind is bool:
            return text == "true"
        try:
            return self.kind(text)
        except ValueError:
            raise BadInput(f"{self.name}: expected {self.words}, not '{text}'") from None


#: By planner, the options of its function.
_options: dict[str, dict[str, Option]] = {}

_KINDS: dict[type, str] = {bool: "", int: "a whole number", float: "a number", str: "a text without : and ,"}


def _options_of(planner: str, function: Function) -> list[Option]:
    """The first parameter is the problem, `micro_batch` the caller's pin."""
    out = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.name == "micro_batch" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        standard, kind = parameter.default, type(parameter.default)
        if parameter.kind is parameter.POSITIONAL_ONLY or standard is parameter.empty:
            raise BadInput(f"planner {planner}: parameter {parameter.name}: an option of a planner has a name and a default")
        if kind not in _KINDS:
            continue
        values = [str(word) for word in _words_of(function, parameter.name)] or (["false", "true"] if kind is bool else [])
        if values and _text(standard) not in values:
            raise BadInput(f"planner {planner}: parameter {parameter.name}: the default is none of {', '.join(values)}")
        out.append(Option(parameter.name, _text(standard), values, "" if values else _KINDS[kind], kind))
    return out


def _words_of(function: Function, parameter: str) -> tuple[object, ...]:
    """Values that a Literal annotation allows; nothing of other annotations."""
    try:
        annotation = typing.get_type_hints(function).get(parameter)
    except Exception:  # names that are not there when the function is registered
        return ()
    return typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()


class Answer(NamedTuple):
    """Outcome of a function: a plan, or why there is none ("infeasible" or "error") in words."""

    kind: str
    plan: _core.Plan | None
    words: str


def answer(name: str, problem: _core.Problem, micro_batch: int | None, options: Mapping[str, str]) -> Answer:
    """Called by the compiled module, on a thread of the search."""
    _raised.pop(name, None)
    try:
        given = {key: _options[name][key].read(text) for key, text in options.items()}
        found = _call(_functions[name], problem, micro_batch, given)
        plan = found if isinstance(found, _core.Plan) else _core.plan_from_stages(problem, found, "1f1b")
        _check_pin(plan, micro_batch)
        return Answer("plan", plan, "")
    except Infeasible as error:
        return Answer("infeasible", None, f"planner {name}: {error}")
    except BaseException as error:  # none may pass through C++
        _raised[name] = error
        return Answer("error", None, f"planner {name}: {_words(error)}")


def cause(planner: str) -> BaseException | None:
    """Exception that the function of a planner, with or without options behind colons, raised the last time."""
    return _raised.pop(planner.partition(":")[0], None)


def refuse_workers(names: Iterable[str]) -> None:
    """Refuses planners of this process, which workers of a cluster do not have."""
    mine = sorted(set(names) & _functions.keys())
    if mine:
        raise BadInput(f"planner {', '.join(mine)}: registered in this process alone, not on the workers; run without client")


def stage_lines(stages: Stages) -> str:
    """The stages of a plan file, each on a line of its own; JSON is YAML."""
    if isinstance(stages, (str, bytes, Mapping)):
        raise TypeError("expected a list of stages, each a mapping with operators, devices and micro_batch")
    return "".join(f"- {json.dumps(dict(stage), default=_plain)}\n" for stage in stages)


def stage_cost(
    problem: _core.Problem, operators: Iterable[str], devices: Iterable[int], micro_batch: int, **degrees: object
) -> _core.StageCost:
    """Returns the seconds of a stage with these operators on these devices, by the formulas of Penstock's planners.

    The operators need not belong to a whole pipeline.

    Args:
        problem: The problem.
        operators: Names of operators.
        devices: Numbers of devices.
        micro_batch: Samples of all replicas together.
        degrees: Further keys of a stage in a plan file (tensor_parallel, zero, recompute, ...).

    Raises:
        BadInput: A key is malformed; the message names it.
        InvalidPlan: The stage breaks a rule.
    """
    return _core.stage_cost(problem, [_stage(operators, devices, micro_batch, degrees)])


def stage_memory(
    problem: _core.Problem, operators: Iterable[str], devices: Iterable[int], micro_batch: int, **degrees: object
) -> dict[str, int]:
    """Returns the bytes, by kind, that the fullest device of a stage needs.

    Args:
        degrees: As for stage_cost(), and `in_flight`: samples between their forward and backward pass. Default: one micro-batch.

    stage_cost() describes the other arguments.
    """
    return _core.stage_memory(problem, [_stage(operators, devices, micro_batch, degrees)])


def _stage(operators: Iterable[str], devices: Iterable[int], micro_batch: int, degrees: Mapping[str, object]) -> dict[str, object]:
    return {"operators": list(operators), "devices": list(devices), "micro_batch": micro_batch, **degrees}


def _plain(value: object) -> object:
    """Replaces values that JSON has no form for: ranges and other iterables, numbers of numpy."""
    if isinstance(value, Iterable):
        return list(value)
    return int(value)  # type: ignore[call-overload]


def _call(function: Function, problem: _core.Problem, micro_batch: int | None, options: Mapping[str, object]) -> _core.Plan | Stages:
    if "micro_batch" in inspect.signature(function).parameters:
        return function(problem, micro_batch=micro_batch, **options)
    return function(problem, **options)


def _check_pin(plan: _core.Plan, micro_batch: int | None) -> None:
    sizes = {size for size in plan.micro_batches if size != micro_batch}
    if micro_batch is not None and sizes:
        raise ValueError(f"a replica takes {min(sizes)} samples at a time, the caller pins {micro_batch}")


def _words(error: BaseException) -> str:
    """The exception, and the line of the planner that it comes from."""
    said = str(error) if isinstance(error, Error) else "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    return f"{said} ({frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name})" if frames else said
