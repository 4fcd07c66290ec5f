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
    """Results as one HTML page, or as a table: html, text, markdown, csv, json or latex, as `penstock report` writes it.

    what: a results folder, what run() or compare() returned, or a plan that was searched, which has a page alone. columns:
    of a table, by the names that `penstock report --columns` takes; None: all of them in CSV and JSON, at most nine in
    Markdown and LaTeX. baseline: the planner that ratios divide by; None: that of the experiment, if its file names one.

    Raises BadInput for other formats, for columns and baselines that there are not, and for folders without results,
    KeyboardInterrupt.
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
    """A picture as SVG: small multiples over devices or mini-batches, as `penstock report --chart` draws them.

    what: a results folder, or what run() or compare() returned. quantity: throughput (None), memory or search_time; None
    of a comparison: every plan as a bar with its gap to the bound, as `penstock compare -o` draws them. path: also
    written there, as SVG, PDF or PNG by its ending; the latter two need rsvg-convert or cairosvg.

    Raises BadInput for another quantity or ending, and where no row has the quantity.
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

    #: What was assumed of the problem instead of stated, in one line; empty: unknown.
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
    """The rows that no other beats: what can be traded for what. In the order given.

    rows: those of a comparison or of results, or any. least, most: numbers of a row (attributes of Row) that are to be
    small, and large. A row is left out where another one is at least as good in all of them and better in one, where an
    earlier one equals it in all, and where it has no plan. Raises BadInput for names that no row has.
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
