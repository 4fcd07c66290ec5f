"""Work handed to the workers of a Dask cluster.

A task is a function of this module and values that can be pickled. Dask shows it on the dashboard, and gives it to another worker
when the one that had it dies.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import distributed

from . import _core
from .errors import Error

#: Where memory is measured, a process runs one cell at a time.
_alone = threading.Lock()


class _Cancelled(Exception):
    """The caller waits for this task no more."""


def _beat() -> Callable[[], None]:
    """A task calls this every now and then: raises once the task was cancelled, which Dask does not report to it."""
    worker = distributed.get_worker()
    key = worker.get_current_task()

    def beat() -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise _Cancelled

    return beat


def _threads() -> int:
    return distributed.get_worker().state.nthreads


def _same(value: object) -> object:
    return value


def _start(experiment: _core.Experiment, cell: _core.RemoteCell, planner: str, first: list[str]) -> str:
    return _core.run_start(experiment, cell, planner, dict(zip(cell.first, first)), _threads(), _beat())


def _cell(
    experiment: _core.Experiment, cell: _core.RemoteCell, starts: list[str]
) -> tuple[bytes, Exception | None]:
    answers = dict(zip([*cell.first, *cell.then], starts))
    if not experiment.alone:
        return _core.run_remote(experiment, cell, answers, _threads(), _beat())
    with _alone:
        return _core.run_remote(experiment, cell, answers, _threads(), _beat())


def _times(repeated: _core.Repeat, seed: int, runs: int) -> list[float]:
    return repeated.times(seed, runs, _threads(), _beat())


class _Tasks:
    """Futures of one call, cancelled together."""

    def __init__(self, client: distributed.Client) -> None:
        self._client = client
        self._token = uuid.uuid4().hex[:8]
        self._futures: list[distributed.Future[Any]] = []

    def submit(self, kind: str, name: str, function: Callable[..., object], *arguments: object) -> distributed.Future[Any]:
        """The dashboard groups tasks by kind."""
        key = (f"penstock_{kind}-{self._token}", name)
        self._futures.append(self._client.submit(function, *arguments, key=key, pure=False))
        return self._futures[-1]

    def cancel(self) -> None:
        self._client.cancel(self._futures, force=True)


@contextmanager
def _tasks(client: distributed.Client) -> Iterator[_Tasks]:
    """Cancels the tasks that are left when an exception, Ctrl-C among them, ends the call."""
    tasks = _Tasks(client)
    try:
        yield tasks
    except BaseException:
        tasks.cancel()
        raise


def run_cells(
    client: distributed.Client,
    experiment: _core.Experiment,
    setting: _core.RunSetting,
    told: Callable[[_core.Row, int, int], object] | None,
) -> Exception | None:
    """Puts all cells that can run anywhere into the cache; the error of the first that failed, in the order of the file."""
    cells = _core.remote_cells(experiment, setting)
    errors: dict[int, Exception] = {}
    with _tasks(client) as tasks:
        # A task of its own, not scattered data: Dask makes it again where the worker that held it died.
        sent = tasks.submit("inputs", experiment.name, _same, experiment)
        numbers = {}
        for number, cell in enumerate(cells):
            first = [tasks.submit("start", f"{cell.name} {name}", _start, sent, cell, name, []) for name in cell.first]
            then = [tasks.submit("start", f"{cell.name} {name}", _start, sent, cell, name, first) for name in cell.then]
            numbers[tasks.submit("cell", cell.name, _cell, sent, cell, first + then)] = number
        lost = []
        for done, future in enumerate(distributed.as_completed(numbers), 1):
            number = numbers[future]
            try:
                text, error = future.result()
            except distributed.KilledWorker as killed:
                lost.append(f"{cells[number].name}: {killed}")
                continue
            row = _core.take_in(setting, cells[number], text)
            future.release()
            if error:
                errors[number] = error
            if told:
                told(row, done, len(cells))
    if lost:
        raise Error("workers died at these cells, the others are in the cache:\n" + "\n".join(sorted(lost)))
    return errors[min(errors)] if errors else None


def repeat(client: distributed.Client, repeated: _core.Repeat, seed: int, runs: int) -> tuple[float, ...]:
    """Times of all seeds, several to a task; how many makes no difference to them."""
    threads = max(1, sum(client.nthreads().values()))
    size = max(1, runs // (4 * threads))
    with _tasks(client) as tasks:
        sent = tasks.submit("plan", "plan", _same, repeated)
        parts = [
            tasks.submit("seeds", str(first), _times, sent, seed + first, min(size, runs - first))
            for first in range(0, runs, size)
        ]
        return tuple(time for part in client.gather(parts) for time in part)
