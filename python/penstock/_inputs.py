"""Models and plans by name or from files."""

from __future__ import annotations

import os

from . import _core
from .errors import BadInput


def _text(value: object) -> str:
    """As the command line and plan files write a parameter."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _texts(parameters: dict[str, object]) -> dict[str, str]:
    return {key: _text(value) for key, value in parameters.items()}


def zoo(name: str, **parameters: object) -> _core.Model:
    """A network of the zoo: zoo("mmt", branches=2).

    Parameters are those of `penstock model NAME`; the others have their defaults. Raises BadInput naming the
    parameter and what was expected.
    """
    return _core.zoo(name, _texts(parameters))


def import_hf(path: str | os.PathLike[str], sequence: int | None = None) -> _core.Model:
    """The model of a Hugging Face config.json; neither network nor torch is needed.

    path: the file, or the folder that has it. sequence: tokens of a sample; None: as many as the config has positions,
    at most 4096. What the zoo leaves out is in the model's `notes`, the precision that it states in `precision`. Raises BadInput naming line and key for what would be another network.
    """
    return _core.import_hf(os.fspath(path), sequence)


def load(
    path: str | os.PathLike[str],
    *,
    cluster: _core.Cluster | None = None,
    costs: str | os.PathLike[str] | None = None,
    allow_foreign: bool = False,
    **parameters: object,
) -> _core.Model | _core.Plan:
    """What a file holds: a Plan, or the Model of a model file, a model reference or a Hugging Face config (or its folder).

    For a plan: cluster takes the place of its own, costs are a calibration or profile (None: the analytic model),
    allow_foreign takes those of other devices. For a file that names a model: further parameters. A plan is not
    checked yet (validate). Raises BadInput with file, line and key.
    """
    name = os.fspath(path)
    if not os.path.isdir(name) and _core.is_plan_file(name):
        if parameters:
            raise BadInput(f"{name}: a plan takes no parameter {next(iter(parameters))}")
        return _core.load_plan(name, cluster, None if costs is None else os.fspath(costs), allow_foreign)
    if cluster is not None or costs is not None or allow_foreign:
        raise BadInput(f"{name}: cluster, costs and allow_foreign are for plans, and this is a model")
    return _core.load_model(name, _texts(parameters))
