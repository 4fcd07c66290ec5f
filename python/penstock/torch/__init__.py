"""PyTorch and ONNX models in, plans out to torch.distributed.pipelining, costs measured by torch.

Only files join it to Penstock: model files, plans, schedules and profiles of docs/formats. See docs/pytorch.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "CannotRun": "plan_file",
    "Model": "model",
    "Operator": "model",
    "Pipeline": "pipeline",
    "Profile": "profiling",
    "build": "pipeline",
    "from_onnx": "onnx_import",
    "from_torch": "torch_import",
    "name_passes": "pass_names",
    "profile": "profiling",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Names are imported at their first use: ONNX needs no torch, and a plan no onnx."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
