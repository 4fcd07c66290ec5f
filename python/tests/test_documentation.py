"""What docs/python.md shows runs as it stands."""

import contextlib
import io
import re
import shutil

from conftest import ROOT


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    text = (ROOT / "docs/python.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    shutil.copy(ROOT / "tests/frameworks/configs/llama3_70b.json", tmp_path / "config.json")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(example, {})  # noqa: S102
    assert "megatron" in printed.getvalue() and (tmp_path / "plan.yaml").exists()


def test_every_public_function_is_in_its_table():
    import penstock as ps

    text = (ROOT / "docs/python.md").read_text()
    functions = [name for name in ps.__all__ if name.islower()]
    assert functions and all(f"`{name}(" in text for name in functions)
