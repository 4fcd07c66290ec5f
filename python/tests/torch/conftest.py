"""The package from this checkout, its command line, and models of the zoo as that writes them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest
from checkout import ROOT


@pytest.fixture(scope="session")
def penstock():
    """Runs a command of Penstock and returns what it prints; skips where it was not built."""
    found = os.environ.get("PENSTOCK") or shutil.which(str(ROOT / "build/src/cli/penstock")) or shutil.which("penstock")
    if not found:
        pytest.skip("no penstock: build it, or say where it is by PENSTOCK=path")

    def run(*arguments) -> str:
        done = subprocess.run([found, *map(str, arguments)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def zoo(penstock, tmp_path):
    """Operators of a model of the zoo, as its model file lists them."""

    def load(name: str, **parameters) -> list[dict]:
        path = tmp_path / f"zoo_{name}.json"
        options = [word for key, value in parameters.items() for word in ("-p", f"{key}={value}")]
        penstock("model", name, *options, "-o", path)
        return json.loads(path.read_text())["operators"]

    return load
