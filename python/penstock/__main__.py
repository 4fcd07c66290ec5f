"""python -m penstock: the program."""

from ._command import main

main()
