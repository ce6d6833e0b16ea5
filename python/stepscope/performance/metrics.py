"""The metrics of a region, as plain values.

A megabyte (MB) is 1,000,000 bytes, everywhere. A value that was not measured is `nan` with a `reason`; JSON documents
have `null` there, and the reasons under `nulls`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Any

from .figure import known, reason_of, what_is_missing

if TYPE_CHECKING:
    from .leaks import Leak

__all__ = ["ComputeMetrics", "MemoryMetrics", "Metrics", "SystemMetrics", "TimingMetrics"]

MB = 1e6

# Of those that are missing for one reason; a profiler that is off has none at all.
_MOST_NAMES = 8

# Of a single call they all say the same.
_OF_MANY_CALLS = ("total_time_s", "mean_s", "min_s", "max_s", "p50_s", "p95_s", "p99_s")


class _Figures:
    """A group of metrics, which prints one line per metric."""

    def __repr__(self) -> str:
        group = type(self).__name__.removesuffix("Metrics").lower()
        parts = lines_of_missing(_parts(self), "incomplete")
        return "\n".join([*_lines_of(group, self), *lines_of_missing(_nulls(self)), *parts])


@dataclass(frozen=True, repr=False)
class MemoryMetrics(_Figures):
    """Memory during the call that closed last."""

    peak_ram_mb: float
    """Peak memory of the process; exact if it was a new peak, else the largest reading."""
    start_ram_mb: float
    """Memory of the process at the start."""
    end_ram_mb: float
    """Memory of the process at the end."""
    growth_mb: float
    """Memory at the end minus memory at the start."""
    peak_gpu_mb: float
    """Peak memory of the process on all GPUs, from readings."""
    python_peak_mb: float
    """Peak memory of Python's allocator; with `detailed_memory`."""
    leaks: tuple[Leak, ...] | None
    """Memory that grows from step to step, largest first; `None` without `detailed_memory`."""


@dataclass(frozen=True, repr=False)
class TimingMetrics(_Figures):
    """Times in seconds: `wall_time_s` and `cpu_time_s` of the call that closed last, the others over all calls."""

    wall_time_s: float
    """Duration of the call that closed last."""
    cpu_time_s: float
    """CPU time of all threads of the process during that call."""
    self_time_s: float
    """Total duration of all calls, without the regions inside them."""
    total_time_s: float
    """Total duration of all calls."""
    calls: int
    """Number of calls that have closed."""
    mean_s: float
    """Mean duration of a call."""
    min_s: float
    """Duration of the shortest call."""
    max_s: float
    """Duration of the longest call."""
    p50_s: float
    """Median duration; percentiles are within 1 %."""
    p95_s: float
    """95th percentile of the durations."""
    p99_s: float
    """99th percentile of the durations."""


@dataclass(frozen=True, repr=False)
class ComputeMetrics(_Figures):
    """Compute work of the call that closed last."""

    estimated_flops: int | float
    """Floating-point operations of torch's operators, two for a multiply-add; with `estimate_flops`."""
    flops_per_param: float
    """`estimated_flops` per element of the parameters that those operators received."""
    flops_per_second: float
    """`estimated_flops` per second of the call; counting makes the call longer."""
    parameters: int | float
    """Elements of the distinct parameters that torch's operators received."""
    calls_without_flops: int | float
    """Calls of operators that have no formula and count as 0; without views."""
    gpu_utilization_percent: float
    """Percentage of the time in which a GPU was busy, averaged over GPUs; with `track_gpu`."""


@dataclass(frozen=True, repr=False)
class SystemMetrics(_Figures):
    """The machine during the call that closed last, or now, as averages of readings."""

    cpu_percent: float
    """CPU use of all cores together, 0 to 100."""
    process_cpu_percent: float
    """CPU use of this process, from the start of the call to its end; 100 is one core."""
    memory_percent: float
    """Percentage of the machine's memory in use."""
    disk_io_percent: float
    """Percentage of the time in which the busiest disk was busy."""
    disk_io_wait_percent: float
    """Percentage of CPU time that waited for disks."""
    disk_read_mb_per_s: float
    """Megabytes per second read from disks."""
    disk_written_mb_per_s: float
    """Megabytes per second written to disks."""
    network_received_mb_per_s: float
    """Megabytes per second received; with `track_network`."""
    network_sent_mb_per_s: float
    """Megabytes per second sent; with `track_network`."""
    cpu_temperature_celsius: float
    """Temperature of the CPU; with `track_cpu_temp`."""
    gpu_temperature_celsius: float
    """Temperature of the hottest GPU; with `track_gpu`."""
    gpu_power_watts: float
    """Power of all GPUs together; with `track_gpu`."""
    energy_joules: float
    """Energy of what `energy_covers` names; with `track_carbon`."""
    energy_covers: str
    """What `energy_joules` covers: the CPU, GPUs, both, or `nothing`."""
    carbon_g: float
    """Carbon emissions of that energy; with `track_carbon` and `carbon_intensity_g_per_kwh`."""


@dataclass(frozen=True)
class Metrics:
    """All metrics of one region."""

    name: str
    """Name of the region."""
    memory: MemoryMetrics
    """Memory during the call that closed last."""
    timing: TimingMetrics
    """Times of that call and of all calls."""
    compute: ComputeMetrics
    """Compute work of that call."""
    system: SystemMetrics
    """The machine during that call."""
    throughput: float
    """Samples per second, over the calls with `samples`; else over the calls with such regions inside."""

    def to_dict(self) -> dict[str, Any]:
        """Returns all metrics, ready for JSON: `None` for what was not measured, with the reasons under `nulls`.

        `incomplete` has the reasons for metrics that dropped regions affect.
        """
        document: dict[str, Any] = {"name": self.name}
        nulls: dict[str, str] = {}
        parts: dict[str, str] = {}
        for group, value in self._groups():
            missing = _nulls(value)
            parts |= {f"{group}.{name}": reason for name, reason in _parts(value).items()}
            document[group] = {
                field.name: None if field.name in missing else getattr(value, field.name) for field in fields(value)
            }
            nulls |= {f"{group}.{name}": reason for name, reason in missing.items()}
        if self.memory.leaks is not None:
            document["memory"]["leaks"] = [leak.to_dict() for leak in self.memory.leaks]
        document["throughput"] = self.throughput if known(self.throughput) else None
        if not known(self.throughput):
            nulls["throughput"] = str(reason_of(self.throughput))
        document["nulls"] = nulls
        document["incomplete"] = parts
        return document

    def to_json(self) -> str:
        """Returns `to_dict()` as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def __repr__(self) -> str:
        lines = [f"region {self.name}".rstrip()]
        for group, value in self._groups():
            lines += _lines_of(group, value)
        if known(self.throughput):
            lines.append(f"{'throughput':<11} {'samples/s':<26} {_number(self.throughput)}")
        for leak in self.memory.leaks or ():
            lines.append(f"leak: {leak.summary()}")
        document = self.to_dict()
        missing = lines_of_missing(document["nulls"]) + lines_of_missing(document["incomplete"], "incomplete")
        return "\n".join([*lines, *missing])

    def _repr_html_(self) -> str:
        rows = []
        for group, value in self._groups():
            for field in fields(value):
                figure = getattr(value, field.name)
                if field.name != "leaks":
                    shown = _number(figure) if known(figure) else "–"
                    why = escape(reason_of(figure) or what_is_missing(figure) or "", quote=True)
                    rows.append(f'<tr><td>{group}</td><td>{field.name}</td><td title="{why}">{shown}</td></tr>')
        shown = _number(self.throughput) if known(self.throughput) else "–"
        rows.append(f"<tr><td></td><td>throughput</td><td>{shown}</td></tr>")
        leaks = "".join(f"<p>leak: {escape(leak.summary())}</p>" for leak in self.memory.leaks or ())
        return f"<table><caption>{escape(self.name)}</caption>{''.join(rows)}</table>{leaks}"

    def _groups(self) -> tuple[tuple[str, Any], ...]:
        return (
            ("timing", self.timing),
            ("memory", self.memory),
            ("compute", self.compute),
            ("system", self.system),
        )


def _lines_of(group: str, value: Any) -> list[str]:
    """Returns one line per measured metric."""
    left_out = ("leaks", *(_OF_MANY_CALLS if getattr(value, "calls", None) == 1 else ()))
    figures = [(field.name, getattr(value, field.name)) for field in fields(value) if field.name not in left_out]
    return [
        f"{group:<11} {name:<26} {_number(figure)}" for name, figure in figures if known(figure) and figure != "nothing"
    ]


def _nulls(value: Any) -> dict[str, str]:
    """Returns why metrics of a group are missing, by name."""
    reasons = {field.name: reason_of(getattr(value, field.name)) for field in fields(value)}
    if reasons.get("leaks"):
        reasons["leaks"] = reason_of(value.python_peak_mb) or "detailed_memory is off"
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _parts(value: Any) -> dict[str, str]:
    """Returns why metrics of a group do not cover everything, by name."""
    reasons = {field.name: what_is_missing(getattr(value, field.name)) for field in fields(value)}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def lines_of_missing(nulls: Mapping[str, str], what: str = "not measured") -> list[str]:
    """Returns one line per reason, with the metrics that are missing for it."""
    reasons: dict[str, list[str]] = {}
    for name, reason in nulls.items():
        reasons.setdefault(reason, []).append(name.split(".")[-1])
    lines = []
    for reason, names in reasons.items():
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        lines.append(f"{what}: {', '.join(names[:_MOST_NAMES])}{more}: {reason}")
    return lines


def _number(figure: float | str) -> str:
    if isinstance(figure, str):
        return figure
    if isinstance(figure, int) or abs(figure) >= 1000:
        return f"{figure:,.0f}"
    if abs(figure) >= 1:
        return f"{figure:.2f}"
    if figure == 0:
        return "0"
    # Three digits that say something, without an exponent.
    return f"{figure:.{2 - math.floor(math.log10(abs(figure)))}f}"
