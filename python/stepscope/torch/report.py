"""Builds the last message of the profiler on standard error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stepscope import captured


def describe_capture(written: Sequence[Path], steps: int, overhead: float | None) -> str:
    """Returns what was captured and how to open it."""
    size_bytes = sum(path.stat().st_size for path in written if path.exists())
    is_single_file = len(written) == 1 and ".pt.trace.json" not in written[0].name
    place = written[0] if is_single_file else written[-1].parent
    return captured.describe_capture(place, size_bytes, steps, overhead)
