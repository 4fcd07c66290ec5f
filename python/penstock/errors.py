"""Errors of Penstock, one class per kind; `exit_code` is the program's exit code for this error."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any


class Error(Exception):
    """Base of all errors that Penstock raises on purpose.

    `exit_code` is the program's, as `penstock --help` lists them. `file`, `line` (from 1) and `key` are the place in the input,
    or None where it is unknown.
    """

    exit_code: int = 40
    file: str | None = None
    line: int | None = None
    key: str | None = None


class BadInput(Error, ValueError):
    """An argument or a file is malformed or contradicts itself."""

    exit_code = 11


class Infeasible(Error):
    """No plan fits the devices; the message names the obstacle."""

    exit_code = 20


class InvalidPlan(Error, ValueError):
    """A plan or schedule breaks a rule; the message lists the violations."""

    exit_code = 21


class Limit(Error):
    """A limit on time or memory was hit before there was a plan, or the problem is larger than Penstock handles."""

    exit_code = 31


class Internal(Error):
    """A defect of Penstock."""


class SearchInterrupted(UserWarning):
    """Ctrl-C ended a search, and its best plan so far was returned.

    `warnings.simplefilter("error", penstock.SearchInterrupted)` makes it an exception.
    """


class ImplausibleAnswer(UserWarning):
    """An answer breaks a limit, such as an MFU above 1. The likely cause is that costs have times in another unit."""


def doubted(rows: Iterable[Any], stacklevel: int = 3) -> None:
    """Warns of each limit that a row breaks."""
    for row in rows:
        for doubt in row.doubts:
            warnings.warn(f"{row.model}, {row.planner}: {doubt}", ImplausibleAnswer, stacklevel=stacklevel)


_KINDS = {10: BadInput, 11: BadInput, 20: Infeasible, 21: InvalidPlan, 31: Limit, 40: Internal}


def of(code: int, message: str, file: str = "", line: int = 0, key: str = "") -> Error:
    """The error of an exit code; called by the compiled module."""
    error = _KINDS.get(code, Error)(message)
    error.exit_code = code
    error.file, error.line, error.key = file or None, line or None, key or None
    return error
