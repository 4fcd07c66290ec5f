"""Makes penstock.torch importable: the installed package, else this checkout, whose compiled part is not needed."""

from __future__ import annotations

import sys
import types
from pathlib import Path

ROOT = Path(__file__).parents[3]
try:
    import penstock.torch  # noqa: F401
except ImportError:
    package = types.ModuleType("penstock")
    package.__path__ = [str(ROOT / "python/penstock")]
    sys.modules["penstock"] = package
