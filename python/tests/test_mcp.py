"""The server for assistants, through the client of the package `mcp`."""

import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

pytest.importorskip("mcp", reason="pip install mcp")
anyio = pytest.importorskip("anyio")

from mcp import Client, StdioServerParameters, stdio_client  # noqa: E402

from penstock import mcp_server  # noqa: E402

SMALL = {"model": "mmt", "gpus": "4xV100-16", "mini_batch": 32, "planner": "spp"}


def calls(program, folder, *asked):
    """Results of the tools, called one after the other."""

    async def run():
        async with Client(mcp_server.AssistantTools(mcp_server.ProgramRunner(str(program), str(folder))).server()) as client:
            return [await client.call_tool(name, arguments) for name, arguments in asked]

    return anyio.run(run)


def text(result):
    return result.content[0].text


def test_a_plan_is_found_explained_and_simulated(program, tmp_path):
    plan, explained, simulated = calls(
        program, tmp_path, ("plan", SMALL), ("explain", {"plan": "plan.yaml"}), ("simulate", {"plan": "plan.yaml", "what_if": "network=2x"})
    )
    words = plan.structured_content["command"].split()
    again = subprocess.run([program, *words[1:], "--json"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"{json.loads(again.stdout)['strategy']}: " in plan.structured_content["answer"]
    assert (tmp_path / "plan.yaml").exists()
    assert explained.structured_content["answer"] == subprocess.run(
        [program, "explain", "plan.yaml"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert "network" in simulated.structured_content["answer"]


def test_compare_lists_the_planners(program, tmp_path):
    (compared,) = calls(program, tmp_path, ("compare", {k: v for k, v in SMALL.items() if k != "planner"} | {"planners": "spp,graphpipe"}))
    assert "spp" in compared.structured_content["answer"] and "graphpipe" in compared.structured_content["answer"]
    assert "[2/2]" in compared.structured_content["notes"]


def test_size_states_days_for_a_cluster_and_a_cluster_for_days(program, tmp_path):
    asked = {"model": "llama3-8b", "tokens": "100B"}
    exact, found = calls(program, tmp_path, ("size", asked | {"gpus": "8xH100x4"}), ("size", asked | {"gpus": "H100", "days": 5}))
    assert "8xH100x4" in exact.structured_content["answer"] and "--days" not in exact.structured_content["command"]
    assert "at most 5 days" in found.structured_content["answer"]


def test_errors_are_those_of_the_program(program, tmp_path):
    missing, unknown = calls(program, tmp_path, ("explain", {"plan": "none.yaml"}), ("plan", SMALL | {"model": "mnt"}))
    assert missing.is_error and "exit code 11" in text(missing) and "none.yaml" in text(missing)
    assert unknown.is_error and "did you mean" in text(unknown)


@pytest.mark.parametrize(
    "asked",
    [
        SMALL | {"output": "../plan.yaml"},
        SMALL | {"output": "/plan.yaml"},
        SMALL | {"options": {"svg": "../line.svg"}},
        SMALL | {"options": {"--svg": "../line.svg"}},
        SMALL | {"options": {"force": "1"}},
        SMALL | {"options": {"o": "x.yaml"}},
    ],
)
def test_nothing_is_written_outside_the_folder(program, tmp_path, asked):
    folder = tmp_path / "inner"
    folder.mkdir()
    (result,) = calls(program, folder, ("plan", asked))
    assert result.is_error
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["inner"]


def test_a_cancelled_call_ends_its_search(program, tmp_path):
    long = {"model": "dlrm", "gpus": "8xV100-16x8", "mini_batch": 4096, "planner": "joint", "options": {"option": "evaluations=100000000"}, "time_limit": "600s"}

    async def run():
        async with Client(mcp_server.AssistantTools(mcp_server.ProgramRunner(str(program), str(tmp_path))).server()) as client:
            with anyio.move_on_after(3):
                await client.call_tool("plan", long)

    begun = time.monotonic()
    anyio.run(run)
    assert time.monotonic() - begun < 60
    running = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if b"evaluations=100000000" in _read(path)]
    assert not running


def _read(path):
    try:
        return path.read_bytes()
    except OSError:  # has ended
        return b""


def test_the_command_serves(program, tmp_path):
    server = StdioServerParameters(command=str(program), args=["mcp", str(tmp_path)], env={**os.environ, "PENSTOCK_PYTHON": sys.executable})

    async def run():
        async with Client(stdio_client(server)) as client:
            return await client.list_tools(), await client.call_tool("models", {})

    tools, models = anyio.run(run)
    assert {"plan", "compare", "size", "simulate", "explain", "export", "import", "models", "planners"} <= {tool.name for tool in tools.tools}
    assert all(tool.description for tool in tools.tools)
    assert "llama" in models.structured_content["answer"]
