"""Reports the machine since the profiler was created: averages, peaks and minimums of every series."""

from __future__ import annotations

import difflib
from typing import Any

from .figure import known, reason_of, unmeasured
from .metrics import MB, lines_of_missing
from .readings import Readings

__all__ = ["SystemReport", "system_report"]

# Counters that only ever grow, and what never changes.
_NOT_A_LEVEL = ("process_cpu_seconds", "process_peak_rss_bytes", "memory_total_bytes")

#: Series that are listed even if they could not be measured, with the reason.
_ALWAYS_TOLD = (
    "cpu_percent",
    "process_cpu_percent",
    "disk_io_wait_percent",
    "memory_percent",
    "process_rss_bytes",
    "disk_io_percent",
    "network_received_bytes_per_s",
    "network_sent_bytes_per_s",
    "cpu_temperature_celsius",
    "gpu0_utilization_percent",
    "gpu0_memory_used_bytes",
)


class SystemReport:
    """Holds `avg_…`, `peak_…` and `min_…` of every series that was read of the machine.

    For example `avg_cpu_percent`, `peak_memory_percent`, `peak_process_rss_mb`, `min_gpu0_utilization_percent`;
    `dir()` lists all of them. A value that was not measured is `nan` with a `reason`.
    """

    def __init__(self, figures: dict[str, float]) -> None:
        self._figures = figures

    def __getattr__(self, name: str) -> float:
        try:
            return self.__dict__["_figures"][name]  # type: ignore[no-any-return]
        except KeyError:
            near = difflib.get_close_matches(name, self.__dict__.get("_figures", ()), 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise AttributeError(f"the system report has no attribute {name!r}{hint}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._figures]

    def to_dict(self) -> dict[str, Any]:
        """Returns all values, ready for JSON: `None` for what was not measured, with the reasons under `nulls`."""
        document: dict[str, Any] = {name: value if known(value) else None for name, value in self._figures.items()}
        document["nulls"] = {name: reason_of(value) for name, value in self._figures.items() if not known(value)}
        return document

    def __repr__(self) -> str:
        lines = [f"{'':<32} {'average':>10} {'peak':>10} {'least':>10}"]
        for name in (key.removeprefix("avg_") for key in self._figures if key.startswith("avg_")):
            values = [self._figures[f"{kind}_{name}"] for kind in ("avg", "peak", "min")]
            shown = " ".join(f"{value:>10,.1f}" if known(value) else f"{'–':>10}" for value in values)
            lines.append(f"{name:<32} {shown}".rstrip())
        nulls = self.to_dict()["nulls"].items()
        missing = {name.removeprefix("avg_"): reason for name, reason in nulls if name.startswith("avg_")}
        return "\n".join([*lines, *lines_of_missing(missing)])


def system_report(readings: Readings, cpu_window_ns: int) -> SystemReport:
    """Builds the report of all readings. A peak of the CPU is that of a whole window, as short bursts say little."""
    figures: dict[str, float] = {}
    measured = [name for name in readings.names(".*") if name not in _NOT_A_LEVEL and not name.endswith("_joules")]
    for name in sorted({*measured, *_ALWAYS_TOLD}):
        label, factor = _in_mb(name)
        if reason := readings.missing(name):
            values = {kind: unmeasured(reason) for kind in ("avg", "peak", "min")}
            figures |= {f"{kind}_{label}": value for kind, value in values.items()}
            continue
        is_cpu = name.endswith("_percent") and "cpu" in name
        windows = readings.averages_by_window(name, cpu_window_ns) if is_cpu else []
        peak, least = (max(windows), min(windows)) if windows else (readings.peak(name), readings.least(name))
        figures |= {
            f"avg_{label}": readings.average(name) * factor,
            f"peak_{label}": peak * factor,
            f"min_{label}": least * factor,
        }
    return SystemReport(figures)


def _in_mb(series: str) -> tuple[str, float]:
    for ending, shown in (("_bytes", "_mb"), ("_bytes_per_s", "_mb_per_s")):
        if series.endswith(ending):
            return series.removesuffix(ending) + shown, 1 / MB
    return series, 1.0
