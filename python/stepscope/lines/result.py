"""The result of a line profiler."""

from __future__ import annotations

import csv
import io
import json
import linecache
import platform
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from .recording import Counts, Figures, Place

__all__ = ["LineProfile", "LineRow"]

#: Why a value may be missing.
_NO_HIT = "the line began before the recording did"


@dataclass(frozen=True)
class LineRow:
    """One line of a function. Its time includes the calls it makes, but not the time a generator is suspended."""

    #: File of the source.
    file: str
    #: Number of the line, from 1.
    line_number: int
    #: The function it belongs to, or `<module>`.
    function: str
    #: First line of that function.
    function_line: int
    #: How often the line ran.
    hits: int
    #: Time until the next line of the same call, over all hits.
    time_ns: int
    #: Time per hit; `None` if there was none.
    per_hit_ns: int | None
    #: Percentage of the recorded time. A line includes the lines it calls, so the sum may exceed 100.
    time_percent: float
    #: Percentage of the time of all lines of this function.
    function_percent: float
    #: Growth of the process memory while the line ran; `None` if it was not measured.
    memory_growth_bytes: int | None
    #: Growth of the memory of Python's objects; `None` if it was not measured.
    python_growth_bytes: int | None
    #: The source, empty if it cannot be read.
    code: str


@dataclass(frozen=True)
class FunctionLines:
    """The lines of a function that ran. Also holds modules and class bodies, with `is_function` false."""

    file: str
    name: str
    first_line: int
    is_function: bool
    rows: tuple[LineRow, ...]

    @property
    def time_ns(self) -> int:
        """Time of all its lines."""
        return sum(row.time_ns for row in self.rows)


class LineProfile:
    """Holds the lines that ran: functions with the most time first, each in the order of its source.

    It is a sequence of rows, prints as annotated source, and shows bars in a notebook.

    >>> profile = LineProfile([], 0)
    >>> [row.line_number for row in profile if row.time_percent > 10]
    []
    """

    def __init__(
        self,
        functions: Sequence[FunctionLines],
        total_ns: int,
        missing: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        #: The rows by function.
        self.functions = tuple(functions)
        #: Recorded time, over all threads.
        self.total_ns = total_ns
        #: Columns that are empty, and why.
        self.missing = dict(missing or {})
        #: What else is missing.
        self.notes = tuple(notes)

    @property
    def rows(self) -> tuple[LineRow, ...]:
        """All lines."""
        return tuple(row for function in self.functions for row in function.rows)

    def __iter__(self) -> Iterator[LineRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> LineRow:
        return self.rows[index]

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole profile as a dictionary, as `stepscope lines -f json` writes it."""
        from stepscope import __version__

        nulls = {f"rows[].{column}": reason for column, reason in self.missing.items()}
        if any(row.per_hit_ns is None for row in self):
            nulls["rows[].per_hit_ns"] = _NO_HIT
        return {
            "schema": "stepscope.lines/1",
            "stepscope": __version__,
            "run": {"program": sys.argv, "python": platform.python_version()},
            "health": {"notes": list(self.notes)},
            "total_ns": self.total_ns,
            "rows": [asdict(row) for row in self],
            **({"nulls": nulls} if nulls else {}),
        }

    def to_json(self) -> str:
        """Returns `to_dict()` as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def to_csv(self) -> str:
        """Returns the rows as CSV; a value that is not known is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names = [field.name for field in fields(LineRow)]
        writer.writerow(names)
        writer.writerows([getattr(row, name) for name in names] for row in self)
        return text.getvalue()

    def to_text(self, *, width: int | None = None, has_color: bool = False, limit: int = 0) -> str:
        """Returns the annotated source of the functions.

        Args:
            width: Columns to cut lines at; not cut by default.
            has_color: Whether to mark slow lines with terminal colors.
            limit: Functions to show; 0 shows all.
        """
        from .table import text

        return text(self, width, has_color, limit)

    def __str__(self) -> str:
        from .table import terminal

        return self.to_text(**terminal()).rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .table import html

        return html(self)


def profile_of(counts: Counts, missing: Mapping[str, str], notes: Sequence[str]) -> LineProfile:
    """Builds rows from the counts."""
    by_function: defaultdict[Place, dict[int, Figures]] = defaultdict(dict)
    for place, figures in counts.figures.items():
        if any(figures):
            by_function[place._replace(line=0)][place.line] = figures
    functions = [
        _function(place, by_function[place], counts.total_ns, missing)
        for place in sorted(by_function, key=lambda place: (place.file, place.first_line, place.function))
    ]
    # Equal times stay in the order of the source.
    functions.sort(key=lambda function: -function.time_ns)
    return LineProfile(functions, counts.total_ns, missing, notes)


def _function(place: Place, lines: dict[int, Figures], total_ns: int, missing: Mapping[str, str]) -> FunctionLines:
    function_ns = sum(figures.time_ns for figures in lines.values())
    rows = tuple(
        LineRow(
            file=place.file,
            line_number=line,
            function=place.function,
            function_line=place.first_line,
            hits=figures.hits,
            time_ns=figures.time_ns,
            per_hit_ns=round(figures.time_ns / figures.hits) if figures.hits else None,
            time_percent=100 * figures.time_ns / total_ns if total_ns else 0.0,
            function_percent=100 * figures.time_ns / function_ns if function_ns else 0.0,
            memory_growth_bytes=None if "memory_growth_bytes" in missing else figures.memory_growth_bytes,
            python_growth_bytes=None if "python_growth_bytes" in missing else figures.python_growth_bytes,
            code=linecache.getline(place.file, line).strip(),
        )
        for line, figures in sorted(lines.items())
    )
    return FunctionLines(place.file, place.function, place.first_line, place.is_function, rows)
