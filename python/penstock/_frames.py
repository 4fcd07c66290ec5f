"""Tables as pandas' data frames; imported at the first use."""

from __future__ import annotations

import io

import pandas


def of_csv(text: str) -> pandas.DataFrame:
    return pandas.read_csv(io.StringIO(text))
