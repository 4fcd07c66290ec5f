"""Results as pages, tables and pictures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from . import _core, _pictures
from .errors import BadInput


def report(
    what: _core.Comparison | _core.Results | _core.Plan | str | os.PathLike[str],
    format: str = "html",
    *,
    columns: Sequence[str] | None = None,
    baseline: str | None = None,
) -> str:
    """Writes results as one HTML page or as a table, as `penstock report` does.

    Args:
        what: A results folder, the result of run() or compare(), or a plan that was searched. A plan has only a page.
        format: `html`, `text`, `markdown`, `csv`, `json` or `latex`.
        columns: Columns of a table, by the names of `penstock report --columns`. None: all of them in CSV and JSON, at most nine in
            Markdown and LaTeX.
        baseline: The planner that ratios divide by. None: that of the experiment, if its file names one.

    Raises:
        BadInput: The format, a column or the baseline is unknown, or the folder has no results.
        KeyboardInterrupt: Ctrl-C.
    """
    if columns is not None and format == "html":
        raise BadInput("columns: the page has a choice of its own; columns are for tables")
    names = [] if columns is None else list(columns)
    if isinstance(what, _core.Plan):
        if format != "html" or baseline is not None:
            raise BadInput("format: a plan has a page alone, html, without a baseline")
        return what.page()
    if isinstance(what, _core.Comparison) and format == "html":
        return what.page(baseline)
    if isinstance(what, _core.Comparison) or isinstance(what, _core.Results) and format != "html":
        return what.table(format, names, baseline)
    folder = what.folder if isinstance(what, _core.Results) else os.fspath(what)
    return _core.folder_report(folder, format, names, baseline, "Penstock: " + _name(folder))


def chart(
    what: _core.Comparison | _core.Results | str | os.PathLike[str],
    quantity: str | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
) -> str:
    """Draws a picture as SVG: small multiples over devices or mini-batches, as `penstock report --chart` does.

    Args:
        what: A results folder, or the result of run() or compare().
        quantity: `throughput` (None), `memory` or `search_time`. None for a comparison draws every plan as a bar with its gap to
            the bound, as `penstock compare -o` does.
        path: The picture is also written there, as SVG, PDF or PNG by the ending. PDF and PNG need rsvg-convert or cairosvg.

    Raises:
        BadInput: The quantity or ending is unknown, or no row has the quantity.
    """
    if isinstance(what, _core.Comparison) and quantity is None:
        svg = what.svg()
    elif isinstance(what, (_core.Comparison, _core.Results)):
        title = _name(what.folder) if isinstance(what, _core.Results) else what.heading.splitlines()[0]
        svg = _core.rows_chart(what.rows, quantity or "throughput", title)
    else:
        svg = _core.folder_chart(os.fspath(what), quantity or "throughput", _name(what))
    if path is not None:
        _pictures.write(svg, os.fspath(path))
    return svg


def _name(folder: str | os.PathLike[str]) -> str:
    return os.path.basename(os.path.abspath(folder))


class Front(tuple[_core.Row, ...]):
    """Rows that no other beats, in the order given; its text is a table of them, with what they assume where that is known."""

    #: Assumptions about the problem that were not stated, in one line; empty: unknown.
    assumptions: str = ""

    def __str__(self) -> str:
        columns = ["model", "cluster", "devices", "mini_batch", "planner", "samples_per_s", "iteration_s", "peak_memory_bytes", "strategy"]
        table = _core.rows_table(list(self), columns)
        return f"{table}{self.assumptions}\n" if self.assumptions else table


def pareto(
    rows: Iterable[_core.Row] | _core.Comparison | _core.Results,
    *,
    least: Sequence[str] = ("devices", "peak_memory_bytes"),
    most: Sequence[str] = ("samples_per_s",),
) -> Front:
    """Returns the rows that no other row beats, in the given order.

    A row is left out if another row is at least as good in everything and better in one number. It is also left out if an earlier
    row equals it, or if it has no plan.

    Args:
        rows: Rows of a comparison or of results, or any others.
        least: Numbers of a row (attributes of Row) that should be small.
        most: Numbers of a row that should be large.

    Raises:
        BadInput: No row has that number.
    """
    for name in (*least, *most):
        if not hasattr(_core.Row, name):
            raise BadInput(f"a row has no {name}")
    given = rows.rows if isinstance(rows, (_core.Comparison, _core.Results)) else rows
    found = [row for row in given if row.iteration_s is not None]
    points = [[*(getattr(row, name) for name in least), *(-getattr(row, name) for name in most)] for row in found]
    front = Front(found[at] for at in _core.pareto_front(points))
    if isinstance(rows, _core.Comparison):
        front.assumptions = rows.assumptions
    return front
