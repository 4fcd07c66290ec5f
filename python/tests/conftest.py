"""Fixtures that the tests share: the program, whose answers the package must give."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    """The program that the checkout built."""
    path = os.environ.get("PENSTOCK", ROOT / "build/src/cli/penstock")
    if not os.path.exists(path):
        pytest.skip(f"{path} is not built")
    return path


@pytest.fixture(scope="session")
def cli(program):
    """The program's standard output for some arguments."""

    def run(*arguments: object) -> str:
        words = [str(argument) for argument in (program, *arguments)]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    return run
