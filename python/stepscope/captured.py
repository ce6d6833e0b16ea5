"""Describes what a profiler captured, for its last message on standard error."""

from __future__ import annotations

import shlex
from pathlib import Path

__all__ = ["describe_capture", "number_of_steps", "readable_size"]


def describe_capture(place: Path, size_bytes: int, steps: int, overhead: float | None) -> str:
    """Returns what was captured, what it cost, and how to open it."""
    shown = shlex.quote(str(_near(place)))
    counted = f"{number_of_steps(steps)}, " if steps else ""
    cost = "" if overhead is None else f"; recording changed the time per step by {overhead:+.0%}"
    return f"{counted}{readable_size(size_bytes)} in {shown}{cost}; open with: stepscope open {shown}"


def readable_size(size_bytes: float) -> str:
    """Formats a size.

    >>> readable_size(2_500_000)
    '2.5 MB'
    """
    return f"{size_bytes / 1e6:,.1f} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:.1f} kB"


def number_of_steps(steps: int) -> str:
    """Formats a number of steps.

    >>> number_of_steps(1)
    '1 step'
    """
    return f"{steps:,} step{'' if steps == 1 else 's'}"


def _near(path: Path) -> Path:
    """Returns the path as typed from the current folder."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
