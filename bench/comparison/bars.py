"""Draws horizontal bars as SVG: the first answer on one trace, one bar per tool."""

from __future__ import annotations

import statistics
from xml.sax.saxutils import escape

from . import wording

WIDTH, ROW, TOP = 800, 44, 92
NAME_X, BAR_X, BAR_HEIGHT = 24, 220, 24
# Room for the value after the longest bar.
LONGEST_BAR = WIDTH - BAR_X - 90
# Text has a contrast of at least 4.5 with the background, bars of at least 3.
THEMES = {
    "light": {"back": "#ffffff", "text": "#1f2328", "muted": "#59636e", "ours": "#0969da", "other": "#818b98"},
    "dark": {"back": "#0d1117", "text": "#f0f6fc", "muted": "#9198a1", "ours": "#4493f8", "other": "#6e7681"},
}


def draw(result: dict, trace_name: str, theme: str) -> str:
    """Draws the bars of one trace in one theme."""
    colors = THEMES[theme]
    trace = next(trace for trace in result["traces"] if trace["name"] == trace_name)
    cells = [cell for cell in result["cells"] if cell["trace"] == trace_name]
    times = {cell["tool"]: statistics.median(cell["first_s"]) for cell in cells if cell["status"] == "measured"}
    versions = {tool["name"]: tool["version"] for tool in result["tools"]}
    height = TOP + ROW * len(cells) + 12
    spoken = "; ".join(f"{cell['tool']}: {wording.first_answer(cell)}" for cell in cells)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-labelledby="title spoken" font-family="system-ui, sans-serif">',
        f'<title id="title">First answer, in seconds: {escape(wording.trace_title(trace))}</title>',
        f'<desc id="spoken">{escape(spoken)}</desc>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{colors["back"]}"/>',
        _text(NAME_X, 38, "Time to the first answer", colors["text"], 20, "bold"),
        _text(NAME_X, 64, f"{wording.trace_title(trace)} · less is better", colors["muted"], 14),
    ]
    for row, cell in enumerate(cells):
        middle = TOP + ROW * row + ROW // 2
        name, time = cell["tool"], times.get(cell["tool"])
        weight = "bold" if row == 0 else "normal"
        lines.append(_text(NAME_X, middle, name, colors["text"], 14, weight))
        if versions[name] != "–":
            lines.append(_text(NAME_X, middle + 15, versions[name], colors["muted"], 11))
        if time is None:
            lines.append(_text(BAR_X, middle + 5, wording.missing(cell), colors["muted"], 14))
            continue
        length = max(2, round(LONGEST_BAR * time / max(times.values())))
        fill = colors["ours" if row == 0 else "other"]
        top = middle - BAR_HEIGHT // 2
        lines.append(f'<rect x="{BAR_X}" y="{top}" width="{length}" height="{BAR_HEIGHT}" rx="3" fill="{fill}"/>')
        lines.append(_text(BAR_X + length + 8, middle + 5, wording.first_answer(cell), colors["text"], 14, weight))
    return "\n".join([*lines, "</svg>", ""])


def _text(x: int, y: int, text: str, color: str, pixels: int, weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" font-size="{pixels}" font-weight="{weight}" fill="{color}">{escape(text)}</text>'
