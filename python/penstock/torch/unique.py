"""Names that are taken once each."""

from __future__ import annotations

from collections import Counter
from string import ascii_lowercase


class UniqueNames:
    """Hands out `x`, then `x_b`, `x_c`, ...: a number at a name's end would begin a layer."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    def take(self, wanted: str) -> str:
        """The wanted name, or the first similar one that is free."""
        while True:
            self._asked[wanted] += 1
            count = self._asked[wanted]
            name = wanted if count == 1 else f"{wanted}_{_letters(count)}"
            if count == 1:
                return name
            if not self._asked[name]:
                self._asked[name] = 1
                return name


def _letters(count: int) -> str:
    """a to z, aa, ab, ... of 1, 2, ..."""
    out = ""
    while count > 0:
        count, letter = divmod(count - 1, 26)
        out = ascii_lowercase[letter] + out
    return out
