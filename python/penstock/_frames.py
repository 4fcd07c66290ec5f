"""Tables as pandas' data frames; imported where one is asked for."""

from __future__ import annotations

import io

import pandas


def of_csv(text: str) -> pandas.DataFrame:
    return pandas.read_csv(io.StringIO(text))
