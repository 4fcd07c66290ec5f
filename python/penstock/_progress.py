"""Progress of long work: a caller's function, or a bar of tqdm where that is installed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import _core


def _bar(**settings: Any) -> Any:
    """A bar, or None without tqdm."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(**settings)


@contextmanager
def of_search(progress: bool | Callable[[float], object], planner: str) -> Iterator[Callable[[], object]]:
    """Function to call every now and then while a planner searches."""
    start = time.monotonic()
    if callable(progress):
        yield lambda: progress(time.monotonic() - start)
        return
    bar = _bar(desc=planner, bar_format="{desc}: {elapsed}") if progress else None
    yield bar.refresh if bar is not None else lambda: None
    if bar is not None:
        bar.close()


@contextmanager
def of_rows(
    progress: bool | Callable[[_core.Row, int, int], object], unit: str
) -> Iterator[Callable[[_core.Row, int, int], object] | None]:
    """Function to call with each finished row."""
    bar = _bar(unit=unit) if progress is True else None
    if bar is None:
        yield progress if callable(progress) else None
        return

    def told(row: _core.Row, done: int, total: int) -> None:
        bar.total = total
        bar.set_description(row.planner)
        bar.update(done - bar.n)

    with bar:
        yield told
