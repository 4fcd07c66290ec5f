"""Models and plans by name or from files."""

from __future__ import annotations

import os

from . import _core
from .errors import BadInput


def _text(value: object) -> str:
    """Text of a parameter in the form of the command line and plan files."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _texts(parameters: dict[str, object]) -> dict[str, str]:
    return {key: _text(value) for key, value in parameters.items()}


def zoo(name: str, **parameters: object) -> _core.Model:
    """Builds a network of the zoo: `zoo("mmt", branches=2)`.

    Args:
        name: A name of `penstock models`.
        parameters: Those of `penstock model NAME`. The others have their defaults.

    Raises:
        BadInput: A parameter is unknown or malformed; the message names it and what was expected.
    """
    return _core.zoo(name, _texts(parameters))


def import_hf(path: str | os.PathLike[str], sequence: int | None = None) -> _core.Model:
    """Reads the model of a Hugging Face config.json. It needs neither network nor torch.

    The model's `notes` list what the zoo leaves out, and its `precision` is that of the config.

    Args:
        path: The file, or its folder.
        sequence: Tokens of a sample. None: as many as the config has positions, at most 4096.

    Raises:
        BadInput: The config is of a network that the zoo does not have; the message names line and key.
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
    """Reads a file: a Plan, or the Model of a model file, a model reference or a Hugging Face config (or its folder).

    A plan is not checked yet; validate() does that.

    Args:
        path: The file.
        cluster: For a plan: replaces its own cluster.
        costs: For a plan: a calibration, kernel tables or profile file. None: built-in efficiency curves.
        allow_foreign: For a plan: accept costs of other devices.
        parameters: For a file that names a model: further parameters.

    Raises:
        BadInput: The file is malformed; the message names file, line and key.
    """
    name = os.fspath(path)
    if not os.path.isdir(name) and _core.is_plan_file(name):
        if parameters:
            raise BadInput(f"{name}: a plan takes no parameter {next(iter(parameters))}")
        return _core.load_plan(name, cluster, None if costs is None else os.fspath(costs), allow_foreign)
    if cluster is not None or costs is not None or allow_foreign:
        raise BadInput(f"{name}: cluster, costs and allow_foreign are for plans, and this is a model")
    return _core.load_model(name, _texts(parameters))
