"""Reads and writes metrics in a file, one flat row per region, for comparisons and regression detectors."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from stepscope.errors import NotFoundError, UsageError

from .figure import known
from .metrics import Metrics

__all__ = ["Row", "read_rows", "row_of", "write_rows"]

#: Metrics of one region by name; `None` for what was not measured.
Row = dict[str, float | None]


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


def write_rows(path: str | os.PathLike[str], rows: Mapping[str, Row]) -> None:
    """Writes the file whole or not at all."""
    target = Path(path)
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.unfinished")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(rows, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(unfinished, target)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        hint = "pass a file in a folder that this program may write to"
        raise UsageError(f"the metrics cannot be written: {error.strerror}", str(path), hint) from error


def read_rows(path: str | os.PathLike[str]) -> dict[str, Row]:
    """Reads the rows of such a file, or of one written by hand: every region needs `wall_time_s`."""
    hint = "profiler.save_metrics(path) writes such a file"
    try:
        document: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError("no saved metrics found", str(path), hint) from error
    except (OSError, ValueError) as error:
        raise UsageError(f"the saved metrics cannot be read: {error}", str(path), hint) from error
    if not isinstance(document, dict):
        raise UsageError("saved metrics: expected a JSON object with one region per name", str(path), hint)
    for name, row in document.items():
        time_s = row.get("wall_time_s") if isinstance(row, dict) else None
        if isinstance(time_s, bool) or not isinstance(time_s, (int, float)):
            raise UsageError(f"saved metrics: expected a number `wall_time_s` in the region: `{name}`", str(path), hint)
    return document
