"""Examples of docs/python.md run unchanged."""

import contextlib
import io
import re
import shutil

import pytest
from conftest import ROOT


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.DOTALL)


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    example = examples()[0]
    shutil.copy(ROOT / "tests/frameworks/configs/llama3_70b.json", tmp_path / "config.json")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(example, {})  # noqa: S102
    assert "megatron" in printed.getvalue() and (tmp_path / "plan.yaml").exists()


def test_the_example_of_workers_runs(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    import penstock as ps

    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    monkeypatch.chdir(tmp_path)
    # Fewer of all, so that it takes seconds.
    example = examples()[3].replace("n_workers=8", "n_workers=2").replace("runs=1000", "runs=20")
    plan = ps.plan(ps.Problem(ps.zoo("mmt"), ps.Cluster("summit", 32), 512), "gpipe_equal")
    given = {"ps": ps, "plan": plan}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(example, given)  # noqa: S102
    given["client"].cluster.close()
    given["client"].close()
    assert len(given["times"]) == 20 and len(given["results"]) == 24
    assert (tmp_path / "out/quickstart/table.txt").read_bytes() == (ROOT / "results/quickstart/table.txt").read_bytes()


def test_the_planner_of_the_documentation_is_as_fast_as_data_parallelism():
    import penstock as ps

    example, given = examples()[1], {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(example, given)  # noqa: S102
    rows = {row.planner: row for row in ps.compare(given["problem"], ["in_halves", "data_parallel"]).rows}
    assert rows["in_halves"].samples_per_s >= rows["data_parallel"].samples_per_s


def test_the_schedule_of_the_documentation_is_one():
    import penstock as ps

    given = {"ps": ps}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(examples()[2], given)  # noqa: S102
    assert given["two"].ranks == 2 and given["two"].unit == "step"


def test_every_public_function_is_in_its_table():
    import penstock as ps

    text = (ROOT / "docs/python.md").read_text()
    functions = [name for name in ps.__all__ if name.islower()]
    assert functions and all(f"`{name}(" in text for name in functions)


def test_every_public_name_is_on_the_page_of_the_interface():
    import penstock as ps

    text = (ROOT / "docs/site/python_api.md").read_text()
    listed = re.findall(r"^\.\. auto(?:function|class|exception):: (\w+)$", text, re.MULTILINE)
    assert sorted(listed) == sorted(ps.__all__)
