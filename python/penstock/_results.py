"""Results as pages and tables."""

from __future__ import annotations

import os

from . import _core


def report(results: _core.Comparison | str | os.PathLike[str], format: str = "html") -> str:
    """A results folder as one HTML page, or as a table: html, markdown, csv or latex, as `penstock report` writes it.

    A Comparison has tables alone: text, markdown, csv or latex. Raises BadInput for other formats and for folders
    without results, KeyboardInterrupt.
    """
    if isinstance(results, _core.Comparison):
        return results.table(format)
    folder = os.fspath(results)
    return _core.folder_report(folder, format, "Penstock: " + os.path.basename(os.path.abspath(folder)))
