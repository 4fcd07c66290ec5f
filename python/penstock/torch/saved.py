"""Saved activations of a module, measured: bytes that autograd holds from the forward to the backward pass."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import torch

from .capture import Capture
from .groups import Grouping
from .runner import Runner, tensors


def saved_bytes(captured: Capture, grouping: Grouping, inputs: dict[str, torch.Tensor]) -> dict[str, int]:
    """Bytes by operator for all samples of the inputs; each piece of memory counts once, at the one that made it.

    Differs from a model file's rules where a kernel does not keep its output: those count it, as the next kernel
    mostly does.
    """
    runner = Runner(captured, grouping, inputs)
    known = {_memory(x) for value in runner.values.values() for x in tensors(value)}
    known -= {_memory(x) for x in inputs.values()}  # parameters, buffers and constants are no activations
    maker: dict[int, str] = {}
    held: dict[str, dict[int, int]] = defaultdict(dict)

    def pack(x: torch.Tensor, running: str) -> torch.Tensor:
        at = _memory(x)
        if at not in known:
            held[maker.get(at, running)][at] = x.untyped_storage().nbytes()
        return x

    for group in grouping.groups:
        with torch.autograd.graph.saved_tensors_hooks(partial(pack, running=group.name), lambda x: x):
            runner.run(group)
        for node in group.nodes:
            for x in tensors(runner.values[node]):
                maker.setdefault(_memory(x), group.name)
    return {group.name: sum(held[group.name].values()) for group in grouping.groups}


def _memory(x: torch.Tensor) -> int:
    return x.untyped_storage().data_ptr()
