"""Times of a module's operators measured by torch, as a profile (docs/formats/profile.md) that every planner takes."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import torch

from .capture import Capture, Examples, capture, split
from .groups import Group, Grouping, gather
from .model import Model
from .runner import Runner, tensors
from .saved import saved_bytes
from .torch_import import model_of

Result = TypeVar("Result")
Times = dict[str, dict[int, float]]  # seconds by operator and samples


@dataclass
class Profile:
    """Measured medians in seconds, by operator and number of samples. They never fall as the samples grow."""

    device: str
    model: Model  #: with the saved activations that were measured, in bytes per sample
    forward: Times = field(default_factory=lambda: defaultdict(dict))
    backward: Times = field(default_factory=lambda: defaultdict(dict))
    whole: dict[int, float] = field(default_factory=dict)  #: forward and backward of the module at once, by samples

    def sum(self, samples: int) -> float:
        """Seconds of all operators, both passes."""
        return sum(times[name][samples] for times in (self.forward, self.backward) for name in times)

    def write(self, path: str | Path) -> Path:
        """Writes the file for `--costs`."""
        path = Path(path)
        whole = ", ".join(f"{n} samples {seconds:.6g} s" for n, seconds in sorted(self.whole.items()))
        lines = [
            f"# Measured by torch {torch.__version__}, {torch.get_num_threads()} threads; the whole step: {whole}",
            "penstock_profile: 1",
            f"device: {json.dumps(self.device)}",
            "operators:",
        ]
        for name in self.forward:
            passes = (f"{key}: {_curve(times[name])}" for key, times in self._passes())
            lines.append(f"  {json.dumps(name)}: {{{', '.join(passes)}}}")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def _passes(self) -> tuple[tuple[str, Times], ...]:
        return ("forward", self.forward), ("backward", self.backward)


def _curve(times: dict[int, float]) -> str:
    return "{" + ", ".join(f"{n}: {seconds:.9g}s" for n, seconds in sorted(times.items())) + "}"


def profile(
    module: torch.nn.Module,
    batches: Iterable[Examples],
    *,
    repeats: int = 5,
    device: str | torch.device = "cpu",
    device_name: str | None = None,
) -> Profile:
    """Times every operator by itself, forward and backward, once to warm up and then `repeats` times.

    `batches`: example inputs as for from_torch, each of another number of samples; the module is moved to `device`.
    `device_name`: what the cluster file calls the device; left out, the processor's or GPU's own name.
    More samples are at least as much work. A median that falls as the samples grow is scatter of the clock, and both
    sizes get the mean.
    The operators' sum exceeds the whole step by what a call costs on its own. Buffers, such as the statistics of a
    batch norm, are as before at the end. Raises ValueError where no batch is given or the batches differ in operators.
    """
    device = torch.device(device)
    module.to(device)
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    found: Profile | None = None
    for examples in batches:
        inputs = _on(device, examples)
        captured = capture(module, inputs)
        grouping = gather(captured)
        measured = _saved_model(captured, grouping, captured.named(inputs))
        if found and [op.name for op in found.model.operators] != [op.name for op in measured.operators]:
            raise ValueError(f"with {captured.samples} samples the module has other operators")
        found = found or Profile(device_name or _name(device), measured)
        found.model = measured
        _time_groups(found, captured, grouping, captured.named(inputs), repeats)
    if found is None:
        raise ValueError("no batch was given")
    found.forward, found.backward = ({name: _rising(curve) for name, curve in t.items()} for _, t in found._passes())
    for name, buffer in module.named_buffers():
        buffer.copy_(before[name])
    return found


def _rising(curve: dict[int, float]) -> dict[int, float]:
    """The curve nearest to `curve` by squares that does not fall: neighbours out of order are pooled (isotonic
    regression)."""
    pools: list[list[float]] = []
    for _, seconds in sorted(curve.items()):
        pools.append([seconds])
        while len(pools) > 1 and statistics.mean(pools[-2]) > statistics.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    level = (statistics.mean(pool) for pool in pools for _ in pool)
    return dict(zip(sorted(curve), level))


def _on(device: torch.device, examples: Examples) -> Examples:
    args, kwargs = split(examples)
    return {key: x.to(device) for key, x in kwargs.items()} or tuple(x.to(device) for x in args)


def _name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()


def _saved_model(captured: Capture, grouping: Grouping, inputs: dict[str, torch.Tensor]) -> Model:
    model = model_of(captured, grouping, type(captured.module).__name__)
    saved = saved_bytes(captured, grouping, inputs)
    ops = (replace(op, kept_bytes=round(saved[op.name] / captured.samples)) for op in model.operators)
    return replace(model, operators=tuple(ops))


def _time_groups(
    out: Profile, captured: Capture, grouping: Grouping, inputs: dict[str, torch.Tensor], repeats: int
) -> None:
    runner = Runner(captured, grouping, inputs)
    for group in grouping.groups:
        forward, backward = _time_group(runner, grouping, group, repeats)
        if group.work.kind not in ("input", "reshape"):
            out.forward[group.name][captured.samples] = forward
            out.backward[group.name][captured.samples] = backward
    out.whole[captured.samples] = _time_whole(captured, inputs, repeats)


def _time_group(runner: Runner, grouping: Grouping, group: Group, repeats: int) -> tuple[float, float]:
    """Median seconds of the forward and the backward pass."""
    t = grouping.tensors
    weights = list({id(t.parameter[w]): t.parameter[w] for w in group.weights if t.parameter[w].requires_grad}.values())
    call, forward, backward = runner.alone(group), [], []
    for _ in range(repeats + 1):
        seconds, (made, leaves) = _timed(call)
        forward.append(seconds)
        seconds, _ = _timed(_backward(made, leaves + weights))
        backward.append(seconds)
    return statistics.median(forward[1:]), statistics.median(backward[1:])


def _backward(made: list[torch.Tensor], wanted: list[torch.Tensor]) -> Callable[[], object]:
    roots = [x for x in made if x.requires_grad]
    ones = [torch.ones_like(x) for x in roots]
    if not roots or not wanted:
        return lambda: None
    return lambda: torch.autograd.grad(roots, wanted, ones, allow_unused=True)


def _time_whole(captured: Capture, inputs: dict[str, torch.Tensor], repeats: int) -> float:
    parameters = [p for p in captured.module.parameters() if p.requires_grad]

    def step() -> None:
        made = captured.graph.forward(*inputs.values())
        _backward(list(tensors(made)), parameters)()

    return statistics.median([_timed(step)[0] for _ in range(repeats + 1)][1:])


def _timed(call: Callable[[], Result]) -> tuple[float, Result]:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    result = call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start, result
