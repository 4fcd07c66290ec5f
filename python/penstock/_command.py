"""The console command `penstock`: the program that was built with the package."""

import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "penstock")


def main() -> None:
    """Becomes the program, with the arguments of this process."""
    os.execv(PROGRAM, ["penstock", *sys.argv[1:]])
