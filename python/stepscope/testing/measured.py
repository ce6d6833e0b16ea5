"""What was measured in a test, and the tables of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from .verdict import Verdict, milliseconds, percent

__all__ = ["Measured", "markdown", "table"]

_HEADINGS = ("test", "name", "rounds", "median ms", "saved ms", "change", "98 % range", "verdict")
#: Columns of numbers, which are aligned to the right.
_NUMBERS = range(2, 6)
_UNKNOWN = "–"


@dataclass
class Measured:
    """Holds one measured block of a test. Plain values, so that workers can send it."""

    test: str
    name: str
    values_s: list[float]
    path: str
    """File that it is saved to."""
    verdict: Verdict | None = None
    """`None` if it was not compared."""
    differences: list[str] = field(default_factory=list)
    """In what the machine differs from those of the saved runs."""
    trace: str | None = None
    """File of the trace, or why there is none."""
    is_kept: bool = False
    """Whether it may be saved: the test passed, or only was inconclusive."""

    @classmethod
    def of(cls, document: dict[str, Any]) -> Measured:
        """Reads what `to_dict` wrote."""
        verdict = document["verdict"]
        return cls(**{**document, "verdict": None if verdict is None else Verdict(**verdict)})

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values, for the report of a test."""
        return asdict(self)

    def properties(self) -> list[tuple[str, object]]:
        """Returns the properties of a JUnit file; without those that are not known."""
        found: dict[str, object] = {"median_s": median(self.values_s)}
        if self.verdict is not None:
            found["verdict"] = self.verdict.word
            found |= {key: getattr(self.verdict, key) for key in ("shift", "low", "high", "p")}
        return [(f"stepscope.{self.name}.{key}", value) for key, value in found.items() if value is not None]


def table(measured: Sequence[Measured]) -> list[str]:
    """Returns the lines of a table for terminals. Reasons are left to warnings and failures."""
    rows = [_HEADINGS, *map(_cells, measured)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        sized = enumerate(zip(row, widths))
        cells = [cell.rjust(width) if at in _NUMBERS else cell.ljust(width) for at, (cell, width) in sized]
        lines.append("  ".join(cells).rstrip())
    return lines


def markdown(measured: Sequence[Measured], notes: Sequence[str]) -> str:
    """Returns a Markdown table with notes below it."""
    rules = tuple("---:" if at in _NUMBERS else "---" for at in range(len(_HEADINGS)))
    rows: list[tuple[str, ...]] = [_HEADINGS, rules]
    for one in measured:
        reason = one.verdict.reason if one.verdict is not None else None
        *cells, word = map(_escaped, _cells(one))
        rows.append((*cells, word if reason is None else f"{word}: {_escaped(reason)}"))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, "", *(f"- {_escaped(note)}" for note in notes)]).rstrip() + "\n"


def _cells(one: Measured) -> tuple[str, ...]:
    verdict = one.verdict
    saved = shift = between = word = _UNKNOWN
    if verdict is not None:
        word = verdict.word
        if verdict.baseline_median_s is not None:
            saved = milliseconds(verdict.baseline_median_s)
        if verdict.shift is not None:
            shift = percent(verdict.shift)
        if verdict.low is not None and verdict.high is not None:
            between = f"{percent(verdict.low)} to {percent(verdict.high)}"
    return (
        one.test,
        one.name,
        f"{len(one.values_s):,}",
        milliseconds(median(one.values_s)),
        saved,
        shift,
        between,
        word,
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
