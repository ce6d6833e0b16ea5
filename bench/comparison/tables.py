"""Makes the Markdown tables: a short one for the README and the whole one for the docs."""

from __future__ import annotations

import statistics

from . import wording

METRICS = (
    ("first answer", "s", wording.first_answer, lambda cell: statistics.median(cell["first_s"])),
    ("second answer", "s", wording.second_answer, lambda cell: statistics.median(cell["second_s"])),
    ("peak memory", "MiB", wording.peak_memory, lambda cell: max(cell["peak_bytes"])),
)


def short(result: dict) -> str:
    """One row per trace and metric, one column per tool that was measured; the best value is bold."""
    names = [tool["name"] for tool in result["tools"]]
    measured = [name for name in names if any(cell["status"] != "not measured" for cell in _cells(result, tool=name))]
    rows = [["trace", "metric", *measured]]
    for trace in result["traces"]:
        cells = [cell for cell in _cells(result, trace=trace["name"]) if cell["tool"] in measured]
        title = wording.trace_title(trace)
        for label, unit, text, value in METRICS:
            best = min((value(cell) for cell in cells if cell["status"] == "measured"), default=None)
            texts = [text(cell).removesuffix(f" {unit}") for cell in cells]
            is_best = [cell["status"] == "measured" and value(cell) == best for cell in cells]
            rows.append([title, f"{label}, {unit}", *(f"**{t}**" if b else t for t, b in zip(texts, is_best))])
            title = ""
    notes = [wording.conditions(result), *wording.limits(result)]
    return f"{_markdown(rows)}\n\n{' '.join(notes)}\n\n{_what_tools_do(result)}"


def full(result: dict) -> str:
    """One row per trace and tool, with every column."""
    head = ["trace (size, events)", "tool and version", "first answer, cold", "second answer", "peak memory"]
    rows = [[*head, "events read", "answer checked"]]
    titles = {tool["name"]: wording.tool_title(tool) for tool in result["tools"]}
    for trace in result["traces"]:
        for cell in _cells(result, trace=trace["name"]):
            texts = [text(cell) for _, _, text, _ in METRICS]
            checks = [wording.events_read(cell, trace), wording.answer_checked(cell, trace)]
            rows.append([wording.trace_title(trace), titles[cell["tool"]], *texts, *checks])
    notes = [wording.conditions(result), *wording.limits(result), wording.copies(result)]
    return f"{_markdown(rows)}\n\n{' '.join(notes)}\n\n{_what_tools_do(result)}"


def _cells(result: dict, **wanted: str) -> list[dict]:
    return [cell for cell in result["cells"] if all(cell[key] == value for key, value in wanted.items())]


def _what_tools_do(result: dict) -> str:
    return "\n".join(f"- {wording.tool_title(tool)}: {tool['does']}." for tool in result["tools"])


def _markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])
