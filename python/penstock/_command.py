"""The console command `penstock`: the program that was built with the package."""

import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "penstock")


def main() -> None:
    """Becomes the program, with the arguments of this process. What it hands to Python goes to this interpreter."""
    os.environ.setdefault("PENSTOCK_PYTHON", sys.executable)
    os.execv(PROGRAM, ["penstock", *sys.argv[1:]])
