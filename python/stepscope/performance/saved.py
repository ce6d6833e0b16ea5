"""Reads and writes metrics in a file, one flat row per region, for comparisons and regression detectors."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from stepscope.errors import NotFoundError, UsageError
from stepscope.whole_file import write_whole

from .figure import known
from .metrics import Metrics

__all__ = ["Row", "Runs", "read_rows", "read_runs", "row_of", "write_rows"]

#: Metrics of one region by name; `None` for what was not measured.
Row = dict[str, float | None]

#: Seconds of every call by region, one list per run.
Runs = Mapping[str, Sequence[Sequence[float]]]

#: The member of a region that holds its runs.
_RUNS = "runs_s"

#: A list of numbers over several lines; strings have no line breaks in JSON.
_NUMBERS = re.compile(r"\[\n[\d\s.,eE+-]*\]")


def row_of(metrics: Metrics) -> Row:
    """Returns the metrics of a region that runs are compared by.

    `wall_time_s` is the typical call here: the median of all, or the only one.
    """
    timing = metrics.timing
    figures: dict[str, float] = {
        "wall_time_s": timing.total_time_s if timing.calls == 1 else timing.p50_s,
        "calls": timing.calls,
        "total_time_s": timing.total_time_s,
        "self_time_s": timing.self_time_s,
        "min_s": timing.min_s,
        "p50_s": timing.p50_s,
        "p95_s": timing.p95_s,
        "p99_s": timing.p99_s,
        "max_s": timing.max_s,
        "cpu_time_s": timing.cpu_time_s,
        "throughput": metrics.throughput,
        "peak_ram_mb": metrics.memory.peak_ram_mb,
        "growth_mb": metrics.memory.growth_mb,
        "peak_gpu_mb": metrics.memory.peak_gpu_mb,
        "estimated_flops": metrics.compute.estimated_flops,
        "flops_per_param": metrics.compute.flops_per_param,
        "gpu_utilization_percent": metrics.compute.gpu_utilization_percent,
        "cpu_percent": metrics.system.cpu_percent,
        "energy_joules": metrics.system.energy_joules,
    }
    return {name: value if known(value) else None for name, value in figures.items()}


def write_rows(path: str | os.PathLike[str], rows: Mapping[str, Row], runs: Runs | None = None) -> None:
    """Writes the file whole or not at all, with the times of single calls where they are known."""
    document: dict[str, dict[str, Any]] = {name: dict(row) for name, row in rows.items()}
    for name in document:
        if (runs or {}).get(name):
            document[name][_RUNS] = (runs or {})[name]
    text = json.dumps(document, indent=2, allow_nan=False)
    text = _NUMBERS.sub(lambda found: f"[{' '.join(found.group()[1:-1].split())}]", text)
    try:
        write_whole(Path(path), text + "\n")
    except OSError as error:
        hint = "pass a file in a folder that this program may write to"
        raise UsageError(f"the metrics cannot be written: {error.strerror}", str(path), hint) from error


def read_rows(path: str | os.PathLike[str]) -> dict[str, Row]:
    """Reads the rows of such a file, or of one written by hand: every region needs `wall_time_s`."""
    document = _read(path)
    return {name: {key: value for key, value in row.items() if key != _RUNS} for name, row in document.items()}


def read_runs(path: str | os.PathLike[str]) -> dict[str, list[list[float]]]:
    """Reads the times of single calls of such a file; a region that has none is left out."""
    document = _read(path)
    for name, row in document.items():
        runs = row.get(_RUNS, [])
        if not isinstance(runs, list) or not all(isinstance(run, list) and all(map(_is_time, run)) for run in runs):
            expected = f"saved metrics: expected lists of seconds in `{_RUNS}` of the region: `{name}`"
            raise UsageError(expected, str(path), _HINT)
    return {name: row[_RUNS] for name, row in document.items() if row.get(_RUNS)}


_HINT = "profiler.save_metrics(path) writes such a file"


def _read(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    try:
        document: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError("no saved metrics found", str(path), _HINT) from error
    except (OSError, ValueError) as error:
        raise UsageError(f"the saved metrics cannot be read: {error}", str(path), _HINT) from error
    if not isinstance(document, dict):
        raise UsageError("saved metrics: expected a JSON object with one region per name", str(path), _HINT)
    for name, row in document.items():
        time_s = row.get("wall_time_s") if isinstance(row, dict) else None
        if isinstance(time_s, bool) or not isinstance(time_s, (int, float)):
            expected = f"saved metrics: expected a number `wall_time_s` in the region: `{name}`"
            raise UsageError(expected, str(path), _HINT)
    return document


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
