"""Views of values in notebooks; imported when they need them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from . import _core

_TABLE = '<table style="font-size: 90%"><thead>{}</thead><tbody>{}</tbody></table>'


def _line(cells: Iterable[object], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"


def _span(stage: _core.Stage) -> str:
    first, last = stage.operators[0], stage.operators[-1]
    return first if first == last else f"{first} .. {last} ({len(stage.operators)})"


def _stages(simulation: _core.Simulation) -> str:
    titles = ["stage", "operators", "devices", "replicas", "tensor parallel", "micro-batch", "in flight", "memory"]
    lines = [
        _line(
            [
                number,
                _span(stage),
                " ".join(map(str, stage.devices)),
                stage.replicas,
                stage.tensor_parallel,
                stage.micro_batch,
                stage.in_flight,
                _gib(sum(stage.memory_bytes.values())),
            ]
        )
        for number, stage in enumerate(simulation.stages)
    ]
    return _TABLE.format(_line(titles, "th"), "".join(lines))


def simulation(value: _core.Simulation) -> str:
    """Strategy and numbers, the stages, the timeline."""
    row = value.row
    assert row.bubble is not None and row.peak_memory_bytes is not None  # of what was simulated
    mfu = "" if row.mfu is None else f", MFU {row.mfu:.1%}"
    words = (
        f"{row.model} on {row.devices} devices of {row.cluster}: {row.strategy}; {value.samples_per_s:.1f} samples/s{mfu}, "
        f"iteration {value.iteration_s * 1e3:.3f} ms, bubble {row.bubble:.1%}, peak memory {_gib(row.peak_memory_bytes)}"
    )
    return f"<p>{escape(words)}</p>{_stages(value)}{value.svg()}"


def plan(value: _core.Plan) -> str:
    """Picture of a plan: its simulation, or its file if it was not simulated."""
    return simulation(value.simulation) if value.simulation else f"<pre>{escape(value.to_yaml())}</pre>"


def comparison(value: _core.Comparison) -> str:
    """The problem, then one line per planner."""
    return f"<pre>{escape(value.heading)}</pre>" + _rows(value.rows) + f"<pre>{escape(value.bounds)}</pre>"


def results(value: _core.Results) -> str:
    """One line per cell, then the claims."""
    problems = [f"{row.model} on {row.devices} of {row.cluster}, {row.mini_batch} samples" for row in value.rows]
    return _rows(value.rows, problems) + (f"<pre>{escape(value.claims)}</pre>" if value.claims else "")


def _rows(rows: list[_core.Row], problems: list[str] | None = None) -> str:
    titles = [*(["problem"] if problems else []), "planner", "samples/s", "strategy", "MFU", "iteration", "gap", "memory", "search", "status"]

    def shown(number: float | None, form: str) -> str:
        return "" if number is None else form.format(number)

    lines = [
        _line(
            [
                *([problems[number]] if problems else []),
                row.planner,
                shown(row.samples_per_s, "{:.1f}"),
                row.strategy or "",
                shown(row.mfu, "{:.1%}"),
                shown(row.iteration_s, "{:.4g} s"),
                shown(row.gap, "{:.1%}"),
                "" if row.peak_memory_bytes is None else _gib(row.peak_memory_bytes),
                shown(row.search_s, "{:.3g} s"),
                row.status,
            ]
        )
        for number, row in enumerate(rows)
    ]
    return _TABLE.format(_line(titles, "th"), "".join(lines))
