"""SVG as files of other kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

from .errors import BadInput


def write(svg: str, path: str) -> None:
    """Picture as SVG, PDF or PNG by the path's ending; PNG with twice as many pixels as the SVG states, for print."""
    ending = os.path.splitext(path)[1]
    if ending not in (".svg", ".pdf", ".png"):
        raise BadInput(f"{path}: expected a name that ends in .svg, .pdf or .png")
    if ending == ".svg":
        with open(path, "w", encoding="utf-8") as file:
            file.write(svg)
        return
    zoom = "2" if ending == ".png" else "1"
    with tempfile.TemporaryDirectory() as scratch:
        source = os.path.join(scratch, "in.svg")
        with open(source, "w", encoding="utf-8") as file:
            file.write(svg)
        done = subprocess.run(_command(path, ending[1:], zoom, source), capture_output=True, text=True)
    if done.returncode != 0:
        raise BadInput(f"{path}: {done.args[0]} failed: {done.stderr.strip()}; an SVG needs no converter")


def _command(path: str, kind: str, zoom: str, source: str) -> list[str]:
    if rsvg := shutil.which("rsvg-convert"):
        return [rsvg, "--format", kind, "--zoom", zoom, "--output", path, source]
    if cairo := shutil.which("cairosvg"):
        return [cairo, "--format", kind, "--scale", zoom, "--output", path, source]
    raise BadInput(
        f"{path}: a {kind} file needs rsvg-convert (Debian: apt-get install librsvg2-bin) or cairosvg (pip install cairosvg), "
        f"and neither is installed; an SVG needs none: {os.path.splitext(path)[0]}.svg"
    )
