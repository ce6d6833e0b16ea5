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
    """One row per trace, one column per tool: first answer and peak memory; the shortest time is bold."""
    rows = [["first answer, peak memory", *(wording.tool_title(tool) for tool in result["tools"])]]
    for trace in result["traces"]:
        cells = _cells(result, trace=trace["name"])
        times = [statistics.median(cell["first_s"]) for cell in cells if cell["status"] == "measured"]
        rows.append([wording.trace_title(trace), *(_short_cell(cell, min(times, default=0)) for cell in cells)])
    return f"{_markdown(rows)}\n\n{wording.conditions(result)}"


def _short_cell(cell: dict, shortest_s: float) -> str:
    if cell["status"] != "measured":
        return wording.missing(cell)
    time = wording.first_answer(cell)
    is_best = statistics.median(cell["first_s"]) == shortest_s
    return f"{f'**{time}**' if is_best else time}, {wording.peak_memory(cell)}"


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
