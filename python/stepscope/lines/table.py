"""Prints a line profile as annotated source, for the terminal and for notebooks."""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .result import FunctionLines, LineProfile, LineRow

_TIME_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
_SIZE_UNITS = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))

#: Percentage of its function from which a line is colored.
_HOT_PERCENT, _WARM_PERCENT = 50, 10


def terminal() -> dict[str, Any]:
    """Returns how to print on standard output: with its width and in color on a terminal, plain and uncut elsewhere."""
    if not sys.stdout.isatty():
        return {"width": None, "has_color": False}
    return {"width": get_terminal_size().columns, "has_color": "NO_COLOR" not in os.environ}


def text(profile: LineProfile, width: int | None, has_color: bool, limit: int) -> str:
    """Returns the functions one after the other, with a summary below."""
    shown = profile.functions[: limit or None]
    blocks = [_block(function, profile, width, has_color) for function in shown]
    return "\n\n".join([*blocks, _summary(profile, len(shown))]) + "\n"


def html(profile: LineProfile) -> str:
    """Returns the same as HTML tables with bars."""
    parts = []
    for function in profile.functions:
        columns = _columns(function, profile)
        cells = "".join(f'<th style="text-align:right">{escape(column.title)}</th>' for column in columns)
        rows = [f'<tr>{cells}<th style="text-align:left">source</th></tr>']
        for index, line in enumerate(_lines(function)):
            percent = line.row.function_percent if line.row else 0.0
            bar = f"background:linear-gradient(90deg,rgba(220,80,40,.3) {percent:.1f}%,transparent {percent:.1f}%)"
            cells = "".join(f'<td style="text-align:right">{escape(column.cells[index])}</td>' for column in columns)
            source = f'<code style="white-space:pre">{escape(line.source)}</code>'
            rows.append(f'<tr>{cells}<td style="text-align:left;{bar}">{source}</td></tr>')
        title = f"<b>{escape(function.name)}</b> {escape(_location(function))} · {_time(function.time_ns)}"
        parts.append(f"<p>{title}</p><table>{''.join(rows)}</table>")
    return f"<div>{''.join(parts)}<p>{escape(_summary(profile, len(profile.functions)))}</p></div>"


@dataclass(frozen=True)
class _Line:
    """A line of source to show; one that did not run has no row, and a gap has no number."""

    number: int | None
    source: str
    row: LineRow | None


@dataclass(frozen=True)
class _Column:
    title: str
    cells: list[str]

    @property
    def width(self) -> int:
        return max(len(cell) for cell in (self.title, *self.cells))


def _block(function: FunctionLines, profile: LineProfile, width: int | None, has_color: bool) -> str:
    columns = _columns(function, profile)
    title = f"{function.name}  {_location(function)} · {_time(function.time_ns)}"
    head = "  ".join(column.title.rjust(column.width) for column in columns)
    shown = [_styled(title, "1", has_color), f"{head}  source"]
    for index, line in enumerate(_lines(function)):
        cells = "  ".join(column.cells[index].rjust(column.width) for column in columns)
        whole = f"{cells}  {line.source}".rstrip()
        if width and len(whole) > width:
            whole = whole[: width - 1] + "…"
        shown.append(_styled(whole, _style(line.row), has_color))
    return "\n".join(shown)


def _columns(function: FunctionLines, profile: LineProfile) -> list[_Column]:
    lines = _lines(function)
    rows = [line.row for line in lines]
    columns = [
        _Column("line", ["⋯" if line.number is None else str(line.number) for line in lines]),
        _Column("hits", [f"{row.hits:,}" if row else "" for row in rows]),
        _Column("time", _in_one_unit([row.time_ns if row else None for row in rows], _TIME_UNITS)),
        _Column("per hit", _in_one_unit([row.per_hit_ns if row else None for row in rows], _TIME_UNITS)),
        _Column("share", [f"{row.function_percent:.1f} %" if row else "" for row in rows]),
    ]
    growths = {"process": "memory_growth_bytes", "python": "python_growth_bytes"}
    for title, name in growths.items():
        if name not in profile.missing:
            values = [getattr(row, name) if row else None for row in rows]
            columns.append(_Column(f"{title} growth", _in_one_unit(values, _SIZE_UNITS)))
    return columns


def _lines(function: FunctionLines) -> list[_Line]:
    """Returns all lines of a function; of a module or a class those that ran, as the others belong to functions."""
    rows = {row.line_number: row for row in function.rows}
    source = linecache.getlines(function.file)
    numbers = set(rows)
    if function.is_function and source:
        numbers.update(range(function.first_line, max(max(rows), _last_line(source, function.first_line)) + 1))
    lines = list(_with_gaps(sorted(numbers), rows, source))
    margin = min((_margin(line.source) for line in lines if line.source.strip()), default=0)
    return [_Line(line.number, line.source[margin:], line.row) for line in lines]


def _with_gaps(numbers: Sequence[int], rows: dict[int, LineRow], source: list[str]) -> Iterator[_Line]:
    before = None
    for number in numbers:
        if before is not None and number > before + 1:
            yield _Line(None, "", None)
        yield _Line(number, _clean(source[number - 1]) if number <= len(source) else "", rows.get(number))
        before = number


def _last_line(source: list[str], first_line: int) -> int:
    try:
        return first_line + len(inspect.getblock(source[first_line - 1 :])) - 1
    except (SyntaxError, tokenize.TokenError):
        # The file has changed since it ran.
        return first_line


def _clean(line: str) -> str:
    # A terminal must not be told anything by a file.
    return "".join(character if character.isprintable() else "�" for character in line.rstrip().expandtabs(4))


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _location(function: FunctionLines) -> str:
    relative = os.path.relpath(function.file) if os.path.isabs(function.file) else function.file
    return f"{function.file if relative.startswith('..') else relative}:{function.first_line}"


def _in_one_unit(values: Sequence[int | None], units: Sequence[tuple[str, float]]) -> list[str]:
    """Formats values in one unit: the largest that suits the largest value and most of the others."""
    sizes = sorted(abs(value) for value in values if value) or [0]
    largest, middle = sizes[-1], sizes[len(sizes) // 2]
    name, size = next((unit for unit in units if largest >= unit[1] and middle >= 0.005 * unit[1]), units[-1])
    digits = 0 if size == 1 else 2
    return ["" if value is None else f"{value / size:,.{digits}f} {name}".replace("-", "−") for value in values]


def _time(time_ns: int) -> str:
    return _in_one_unit([time_ns], _TIME_UNITS)[0]


def _style(row: LineRow | None) -> str:
    if row is None:
        return "2"
    if row.function_percent >= _HOT_PERCENT:
        return "1;31"
    return "33" if row.function_percent >= _WARM_PERCENT else ""


def _styled(line: str, style: str, has_color: bool) -> str:
    return f"\x1b[{style}m{line}\x1b[0m" if has_color and style else line


def _summary(profile: LineProfile, shown: int) -> str:
    if not profile.functions:
        return " · ".join(["no line was recorded", *profile.notes])
    functions, files = len(profile.functions), len({function.file for function in profile.functions})
    counted = f"{_number(len(profile), 'line')} of {_number(functions, 'function')} in {_number(files, 'file')}"
    parts = [f"{counted} ran for {_time(profile.total_ns)}; the time of a line includes the calls it makes"]
    if shown < functions:
        parts.append(f"{shown:,} of {functions:,} functions shown (--limit 0 shows all)")
    return " · ".join([*parts, *profile.notes])


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
