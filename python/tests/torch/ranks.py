"""Runs a function in several processes that form a gloo group; what each returns, by rank."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

import checkout  # noqa: F401  a new process finds the package by it
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def run(world: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with mp.Manager() as manager:
        results = manager.dict()
        mp.spawn(_rank, (world, port, results, function, arguments), nprocs=world)
        return [results[rank] for rank in range(world)]


def _rank(rank: int, world: int, port: int, results: Any, function: Callable[..., Any], arguments: tuple) -> None:
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    try:
        results[rank] = function(*arguments)
    finally:
        dist.destroy_process_group()
