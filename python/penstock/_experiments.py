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
    """As `penstock run --only` writes it: model=mmt,devices=8."""
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

    client: a dask.distributed.Client, whose workers run the cells, and each planner that a search by `joint` begins with;
    None: threads of this process. Results are the same bytes either way, whatever the number of workers, except for what
    was measured (timings.csv) and who measured it (provenance.json). Workers need this build of Penstock and no file: what
    the experiment names is sent to them. A worker that dies costs its task, which another one then does. folder: results go
    here; None: out/<name of the experiment>. cache: folder of finished cells, which are not run again; None: .cache in
    `folder`. only: cells that have these values of axes, {"model": "mmt", "devices": 8}, or any of several such. overrides:
    values by dotted paths of the file, {"models.0.mini_batch": [64]}. progress: True for a bar of tqdm where that is
    installed, or a function of a finished cell's row, how many are done, and of how many.

    Raises BadInput with file, line and key; Error when workers die again and again at a cell, with the others in the cache;
    KeyboardInterrupt, which ends the workers' tasks. A cell that fails by a mistake in what it reads, or by a defect, is a
    row with the reason: its BadInput or Internal is raised once all is written.
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
    """Seconds of an iteration of a plan on a perturbed cluster, once for each of the seeds from `seed` on.

    perturbation: a file of slow devices, stragglers, jitter and link faults, as `penstock simulate --perturbation`
    reads. network, collective, pass_collectives: as plan(). client: as run(); the same times either way.

    Raises BadInput with file, line and key, InvalidPlan, KeyboardInterrupt.
    """
    repeated = _core.Repeat(plan, os.fspath(perturbation), network, collective, pass_collectives)
    if client is None:
        return tuple(repeated.times(seed, runs, 0, lambda: None))
    from . import _dask

    return _dask.repeat(client, repeated, seed, runs)
