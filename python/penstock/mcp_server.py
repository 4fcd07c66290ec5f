"""`penstock mcp`: a server that lets assistants plan, compare and simulate training by the Model Context Protocol.

Each tool runs the program, so its answers, notes and errors are those of the command line. Files are written only into
the server's folder. A client that cancels a call ends its search.
"""

import os
import pathlib
import sys
from collections.abc import Mapping
from typing import Annotated, TypedDict

import anyio
from anyio.abc import ByteReceiveStream
from anyio.streams.text import TextReceiveStream
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from ._command import PROGRAM

INSTRUCTIONS = """Penstock plans distributed training of deep networks and predicts its speed and memory by simulation.
Begin with `plan` for a model and its GPUs; it writes a plan file. `explain` and `simulate` read that file, `export` writes
the arguments of a training framework. `compare` shows what other planners find. Every answer lists what it assumed and the
expected error of its costs: repeat both to the user."""

ModelName = Annotated[str, Field(description="released network (llama3-70b), family of the zoo, Hugging Face config.json, or model file; `models` lists names")]
Gpus = Annotated[str, Field(description="GPUs per node, type and nodes, such as 8xH100x12; or a built-in cluster or a cluster file")]
Parameters = Annotated[dict[str, str], Field(description="parameters of the model, such as {'sequence': '8192'}")]
TokensPerBatch = Annotated[str, Field(description="tokens per iteration, such as 4M; language models have a default")]
MiniBatch = Annotated[int, Field(ge=0, description="samples per iteration, instead of tokens_per_batch; 0: not given")]
Framework = Annotated[str, Field(description="megatron, torchtitan, automodel, deepspeed, pytorch, accelerate, or any; empty: chosen by the model")]
Options = Annotated[dict[str, str], Field(description="further options of the command without dashes, such as {'precision': 'mixed_bf16'}")]
TimeLimit = Annotated[str, Field(description="longest time of the search of one planner, such as 60s")]
PlanFile = Annotated[str, Field(description="plan file, as `plan` writes it")]
Output = Annotated[str, Field(description="name of the file to write in the server's folder")]


#: Options that name a file to write. `force` lets the program replace what it did not write.
WRITTEN = frozenset({"csv", "output", "page", "perfetto", "svg", "nearest", "events"})
FORBIDDEN = frozenset({"force"})


class Answer(TypedDict):
    """Output of the program, and the command that repeats it."""

    answer: str
    notes: str  #: warnings and progress
    command: str


def _words(flags: Mapping[str, object]) -> list[str]:
    """Options with a value; those without one are left out."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in flags.items() if value not in ("", 0)]


def _problem(
    model: str, gpus: str, parameters: Mapping[str, str], tokens_per_batch: str, mini_batch: int
) -> list[str]:
    words = _words({"model": model, "cluster": gpus, "tokens_per_batch": tokens_per_batch, "mini_batch": mini_batch})
    return words + [f"--parameter={key}={value}" for key, value in parameters.items()]


class ProgramRunner:
    """The program, run in one folder."""

    def __init__(self, path: str, folder: str) -> None:
        self.path, self.folder = path, pathlib.Path(folder).resolve()

    def inside(self, name: str) -> str:
        """`name`, which must lie in the folder: a plan or a model of the user is never written elsewhere."""
        if not (self.folder / name).resolve().is_relative_to(self.folder):
            raise ToolError(f"{name} is outside the server's folder {self.folder}")
        return name

    def options(self, options: Mapping[str, str]) -> list[str]:
        """Further options as words of the command line."""
        for name, value in options.items():
            key = name.lstrip("-").replace("_", "-")
            if key in FORBIDDEN or len(key) < 2:
                raise ToolError(f"the option {name} is not served")
            if key in WRITTEN:
                self.inside(value)
        return _words({name.lstrip("-"): value for name, value in options.items()})

    def input(self, name: str) -> str:
        if name.startswith("-"):
            raise ToolError(f"'{name}' is not the name of a file")
        return name

    async def run(self, context: Context, words: list[str]) -> Answer:
        """Runs `penstock WORDS`. Its notes are sent while it works. Raises ToolError with its message if it fails."""
        shown = " ".join(["penstock", *words])
        lines: list[str] = []
        answer = bytearray()

        async def read(stream: ByteReceiveStream) -> None:
            async for part in stream:
                answer.extend(part)

        async with await anyio.open_process([self.path, *words], cwd=self.folder) as process:
            assert process.stdout and process.stderr
            async with anyio.create_task_group() as readers:
                readers.start_soon(read, process.stdout)
                async for line in TextReceiveStream(process.stderr):
                    lines.append(line)
                    await context.report_progress(len(lines), message=line.strip())
            status = await process.wait()
        notes = "".join(lines)
        if status != 0 and not answer:
            raise ToolError(f"{shown}\nexit code {status}: {notes.strip()}")
        return {"answer": answer.decode(), "notes": notes, "command": shown}


class AssistantTools:
    """Tools that assistants may call. They read the docstrings."""

    def __init__(self, program: ProgramRunner) -> None:
        self.program = program

    async def plan(
        self, context: Context, model: ModelName, gpus: Gpus, parameters: Parameters = {}, tokens_per_batch: TokensPerBatch = "",
        mini_batch: MiniBatch = 0, framework: Framework = "", planner: str = "joint", options: Options = {},
        time_limit: TimeLimit = "60s", output: Output = "plan.yaml",
    ) -> Answer:
        """Find the fastest plan for training a model on GPUs: degrees of parallelism, stages, schedule, micro-batch, ZeRO and
        recomputation, with its predicted speed, memory and proven gap. Writes the plan file."""
        words = _problem(model, gpus, parameters, tokens_per_batch, mini_batch)
        chosen = _words({"for": framework, "planner": planner, "time_limit": time_limit, "output": self.program.inside(output)})
        return await self.program.run(context, ["plan", *words, *chosen, *self.program.options(options)])

    async def compare(
        self, context: Context, model: ModelName, gpus: Gpus, parameters: Parameters = {}, tokens_per_batch: TokensPerBatch = "",
        mini_batch: MiniBatch = 0, framework: Framework = "", planners: str = "megatron,spp,graphpipe,joint",
        options: Options = {}, time_limit: TimeLimit = "60s",
    ) -> Answer:
        """Let planners compete on one problem: one row per plan, the fastest first. `planners`: names with commas between, or
        all, which takes minutes for large models."""
        words = _problem(model, gpus, parameters, tokens_per_batch, mini_batch)
        chosen = _words({"for": framework, "planners": planners, "time_limit": time_limit})
        return await self.program.run(context, ["compare", *words, *chosen, *self.program.options(options)])

    async def size(
        self, context: Context, model: ModelName, tokens: Annotated[str, Field(description="tokens to train on, such as 2T")],
        gpus: Annotated[str, Field(description="types (H100,B200), whose cluster is found, and exact clusters (8xH100x128)")],
        days: Annotated[float, Field(ge=0, description="most days of wall time; 0: not given, for exact clusters")] = 0,
        parameters: Parameters = {}, tokens_per_batch: TokensPerBatch = "", options: Options = {}, time_limit: TimeLimit = "60s",
    ) -> Answer:
        """Find the smallest and the cheapest cluster that trains so many tokens in so many days, or the days on an exact
        cluster: plan, failures, dollars and energy."""
        asked = {"model": model, "tokens": tokens, "days": days and f"{days:g}", "gpus": gpus, "tokens_per_batch": tokens_per_batch}
        words = _words(asked | {"time_limit": time_limit}) + [f"--parameter={key}={value}" for key, value in parameters.items()]
        return await self.program.run(context, ["size", *words, *self.program.options(options)])

    async def simulate(
        self, context: Context, plan: PlanFile, what_if: Annotated[str, Field(description="changes, such as network=200Gb/s, devices=2x")] = "",
        options: Options = {},
    ) -> Answer:
        """Check a plan file and simulate one iteration: speed, bubble, memory by kind; with what_if also with changes."""
        return await self.program.run(context, ["simulate", self.program.input(plan), *_words({"what_if": what_if}), *self.program.options(options)])

    async def explain(self, context: Context, plan: PlanFile) -> Answer:
        """Explain a plan file in ten sentences: how work is divided, what limits speed and memory, what would help most."""
        return await self.program.run(context, ["explain", self.program.input(plan)])

    async def export(self, context: Context, plan: PlanFile, framework: Framework, output: Output) -> Answer:
        """Write the arguments or the config with which a training framework runs the plan."""
        words = _words({"to": framework, "output": self.program.inside(output)})
        return await self.program.run(context, ["export", self.program.input(plan), *words])

    async def import_file(
        self, context: Context, kind: Annotated[str, Field(description="hf: a config.json; megatron: a launch script or YAML")],
        file: str, output: Output, gpus: Gpus = "", options: Options = {},
    ) -> Answer:
        """Read a Hugging Face config into a model file, or a Megatron-LM launch script into a plan file."""
        words = _words({"cluster": gpus, "output": self.program.inside(output)})
        return await self.program.run(context, ["import", self.program.input(kind), self.program.input(file), *words, *self.program.options(options)])

    async def models(self, context: Context) -> Answer:
        """List the families and released networks that are known by name."""
        return await self.program.run(context, ["models"])

    async def planners(self, context: Context, name: str = "") -> Answer:
        """List the planners, or the options of one."""
        return await self.program.run(context, ["planners", *([self.program.input(name)] if name else [])])

    def server(self) -> MCPServer:
        """The server with these tools, not running yet."""
        server = MCPServer("penstock", title="Penstock", instructions=INSTRUCTIONS)
        for tool in (self.plan, self.compare, self.size, self.simulate, self.explain, self.export, self.models, self.planners):
            server.add_tool(tool)
        server.add_tool(self.import_file, name="import")
        return server


def main(arguments: list[str] | None = None) -> int:
    """Serves on standard input and output until the client closes them. `arguments`: the folder of files."""
    words = sys.argv[1:] if arguments is None else arguments
    folder = words[0] if words else "."
    if not os.path.isdir(folder):
        print(f"penstock: there is no folder {folder}", file=sys.stderr)
        return 11
    AssistantTools(ProgramRunner(os.environ.get("PENSTOCK_PROGRAM") or PROGRAM, folder)).server().run()
    return 0
