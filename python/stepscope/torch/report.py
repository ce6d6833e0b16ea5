"""Builds the last message of the profiler on standard error."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from stepscope.torch.budget import number_of_steps, readable_size


def describe_capture(written: Sequence[Path], steps: int, overhead: float | None) -> str:
    """Returns what was captured and how to open it."""
    size_bytes = sum(path.stat().st_size for path in written if path.exists())
    is_single_file = len(written) == 1 and ".pt.trace.json" not in written[0].name
    place = shlex.quote(str(_near(written[0] if is_single_file else written[-1].parent)))
    counted = f"{number_of_steps(steps)}, " if steps else ""
    cost = "" if overhead is None else f"; recording changed the time per step by {overhead:+.0%}"
    return f"{counted}{readable_size(size_bytes)} in {place}{cost}; open with: stepscope open {place}"


def _near(path: Path) -> Path:
    """Returns the path as typed from the current folder."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
