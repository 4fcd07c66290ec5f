"""Results as pages and tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from . import _core
from .errors import BadInput


def report(results: _core.Comparison | _core.Results | str | os.PathLike[str], format: str = "html") -> str:
    """A results folder as one HTML page, or as a table: html, markdown, csv or latex, as `penstock report` writes it.

    A Comparison, or what run() returned, has tables alone: text, markdown, csv or latex. Raises BadInput for other formats and for folders
    without results, KeyboardInterrupt.
    """
    if isinstance(results, (_core.Comparison, _core.Results)):
        return results.table(format)
    folder = os.fspath(results)
    return _core.folder_report(folder, format, "Penstock: " + os.path.basename(os.path.abspath(folder)))


def pareto(
    rows: Iterable[_core.Row],
    *,
    least: Sequence[str] = ("devices", "peak_memory_bytes"),
    most: Sequence[str] = ("samples_per_s",),
) -> tuple[_core.Row, ...]:
    """The rows that no other beats: what can be traded for what. In the order given.

    least, most: numbers of a row (attributes of Row) that are to be small, and large. A row is left out where another one
    is at least as good in all of them and better in one, where an earlier one equals it in all, and where it has no plan.
    Raises BadInput for names that no row has.
    """
    for name in (*least, *most):
        if not hasattr(_core.Row, name):
            raise BadInput(f"a row has no {name}")
    found = [row for row in rows if row.iteration_s is not None]
    points = [[*(getattr(row, name) for name in least), *(-getattr(row, name) for name in most)] for row in found]
    return tuple(found[at] for at in _core.pareto_front(points))
