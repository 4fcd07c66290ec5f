"""Experiment files run, plans repeated: here, or by the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from . import _core, _planners, _progress
from ._inputs import _text
from .errors import doubted

if TYPE_CHECKING:
    from distributed import Client

Told = Callable[[_core.Row, int, int], object]


def _cells(chosen: Mapping[str, object]) -> str:
    """Cell in the form of `penstock run --only`: model=mmt,devices=8."""
    return ",".join(f"{axis}={_text(value)}" for axis, value in chosen.items())


def run(
    experiment: str | os.PathLike[str],
    *,
    client: Client | None = None,
    folder: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    only: Mapping[str, object] | Iterable[Mapping[str, object]] = (),
    overrides: Mapping[str, object] | None = None,
    progress: bool | Told = False,
) -> _core.Results:
    """Plans and simulates the cells of an experiment file and writes a results folder, as `penstock run` does.

    Args:
        experiment: The file.
        client: A dask.distributed.Client. Its workers run the cells, and each planner that a search by `joint` begins at. None:
            threads of this process.
        folder: The results folder. None: out/<name of the experiment>.
        cache: Folder of finished cells, which do not run again. None: .cache in `folder`.
        only: Cells that have these values of axes, {"model": "mmt", "devices": 8}, or a list of several such.
        overrides: Values by dotted paths of the file, {"models.0.mini_batch": [64]}.
        progress: True for a bar of tqdm where that is installed, or a function of a finished cell's row, the number of finished
            cells, and the number of all cells.

    Results are the same bytes for any number of workers, except for measurements (timings.csv) and their origin (provenance.json).
    Workers need this build of Penstock and no file: inputs are sent to them. A worker that dies costs its task, which another
    worker repeats.

    A cell that fails by a mistake in its input, or by a defect, is a row with the reason. Its BadInput or Internal is raised after
    everything is written.

    Raises:
        BadInput: The file is malformed; the message names file, line and key.
        Error: Workers died again and again at one cell. The other cells are in the cache.
        KeyboardInterrupt: Ctrl-C, which also ends the workers' tasks.
    """
    read = _core.Experiment(os.fspath(experiment), [f"{path}={_text(value)}" for path, value in (overrides or {}).items()])
    setting = _core.RunSetting(
        os.path.join("out", read.name) if folder is None else os.fspath(folder),
        "" if cache is None else os.fspath(cache),
        f"penstock.run({os.fspath(experiment)!r})",
        [_cells(chosen) for chosen in ([only] if isinstance(only, Mapping) else only)],
    )
    failed: Exception | None = None
    with _progress.of_rows(progress, "cell") as told:
        if client is not None:
            _planners.refuse_workers(read.planners)
            from . import _dask

            failed = _dask.run_cells(client, read, setting, told)
        results, error = _core.run_experiment(read, setting, client is None, told if client is None else None)
    if failed or error:
        raise failed or error  # type: ignore[misc]
    doubted(results.rows)
    return results


def repeat(
    plan: _core.Plan,
    perturbation: str | os.PathLike[str],
    runs: int,
    *,
    seed: int = 0,
    network: str = "fair",
    collective: str = "closed_form",
    pass_collectives: str = "closed_form",
    client: Client | None = None,
) -> tuple[float, ...]:
    """Simulates an iteration on a perturbed cluster, once for each seed, and returns the seconds.

    Args:
        plan: The plan.
        perturbation: A file of slow devices, stragglers, jitter and link faults, as `penstock simulate --perturbation` reads it.
        runs: Number of seeds.
        seed: The first seed.
        client: As for run(). The times are equal with and without it.

    plan() describes `network`, `collective` and `pass_collectives`.

    Raises:
        BadInput: The file is malformed; the message names file, line and key.
        InvalidPlan: The plan breaks a rule.
        KeyboardInterrupt: Ctrl-C.
    """
    repeated = _core.Repeat(plan, os.fspath(perturbation), network, collective, pass_collectives)
    if client is None:
        return tuple(repeated.times(seed, runs, 0, lambda: None))
    from . import _dask

    return _dask.repeat(client, repeated, seed, runs)
