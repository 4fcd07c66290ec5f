"""Ranks of a torch process group on this host, for findings."""

import os
import tempfile

import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils._python_dispatch import TorchDispatchMode


def _start(rank, function, ranks, rendezvous):
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=ranks)
    try:
        function(rank)
    finally:
        dist.barrier()
        dist.destroy_process_group()


def run(function, ranks):
    """Calls function(rank) in as many processes, which share a gloo group. Raises if one of them raises."""
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(_start, (function, ranks, os.path.join(folder, "rendezvous")), nprocs=ranks)


class Collectives(TorchDispatchMode):
    """Lists the collectives of this process in order: name and number of elements of the first tensor that it is given."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        space, name = (part.strip("_") for part in str(function).split(".")[:2])
        if any(kind.__name__ == "DTensor" for kind in types):
            return NotImplemented
        if space in ("c10d", "c10d_functional") and not name.startswith(("wait", "wrap")):
            self.calls.append((name, _elements(args)))
        return function(*args, **(kwargs or {}))


def _elements(value):
    if hasattr(value, "numel"):
        return value.numel()
    if isinstance(value, (list, tuple)):
        for part in value:
            count = _elements(part)
            if count is not None:
                return count
    return None
