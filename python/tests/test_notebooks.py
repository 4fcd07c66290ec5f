"""The notebooks of docs/notebooks run, and their results in words and numbers are the committed ones."""

import pathlib
import runpy

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def texts(notebook) -> list[str]:
    """Output and last value of each cell, pictures and tables aside, which hold times of a search."""
    return [
        "".join(
            output.text if output.output_type == "stream" else output.data.get("text/plain", "")
            for output in cell.get("outputs", [])
            if output.output_type in ("stream", "execute_result")
        )
        for cell in notebook.cells
    ]


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_gives_what_is_committed(file):
    for needed in ("nbclient", "ipykernel", "matplotlib"):
        pytest.importorskip(needed)
    import nbformat

    executed = runpy.run_path(str(ROOT / "tools/notebooks"), run_name="notebooks")["executed"]
    committed = texts(nbformat.read(file, as_version=4))
    assert any(committed)
    assert texts(executed(file)) == committed
