"""Finds issues in the metrics of a region."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stepscope.errors import UsageError

from .figure import known, reason_of
from .metrics import Metrics

__all__ = ["Diagnosis", "diagnose_performance_issues"]

HIGH_RAM_MB = 16_000
BUSY_CPU_PERCENT = 95
IDLE_GPU_PERCENT = 70
HIGH_IO_WAIT_PERCENT = 20


class Diagnosis(list[str]):
    """Lists issues, one sentence each. `unchecked` has the metrics that could not be checked, with the reason."""

    def __init__(self, issues: list[str], unchecked: dict[str, str]) -> None:
        super().__init__(issues)
        self.unchecked = unchecked


class _Rule(NamedTuple):
    name: str
    figure: Callable[[Metrics], float]
    is_issue: Callable[[float], bool]
    sentence: str


_RULES = (
    _Rule(
        "memory.peak_ram_mb",
        lambda metrics: metrics.memory.peak_ram_mb,
        lambda value: value > HIGH_RAM_MB,
        "High memory usage ({:,.0f} MB): use a smaller batch or model",
    ),
    _Rule(
        "system.cpu_percent",
        lambda metrics: metrics.system.cpu_percent,
        lambda value: value > BUSY_CPU_PERCENT,
        "CPU bottleneck ({:.0f} % of all cores): make data loading cheaper, or spread the work over machines",
    ),
    _Rule(
        "compute.gpu_utilization_percent",
        lambda metrics: metrics.compute.gpu_utilization_percent,
        lambda value: value < IDLE_GPU_PERCENT,
        "GPU underutilized ({:.0f} %): use a larger batch, or load data faster",
    ),
    _Rule(
        "system.disk_io_wait_percent",
        lambda metrics: metrics.system.disk_io_wait_percent,
        lambda value: value > HIGH_IO_WAIT_PERCENT,
        "I/O bottleneck ({:.0f} % of CPU time waits for disks): read less, prefetch, or use faster storage",
    ),
)


def diagnose_performance_issues(metrics: Metrics) -> Diagnosis:
    """Lists the issues in the metrics of a region.

    A metric that was not measured is not an issue; `unchecked` of the result lists it with the reason.

    Args:
        metrics: What `PerformanceProfiler.get_metrics()` returned.

    Raises:
        UsageError: `metrics` is something else.
    """
    if not isinstance(metrics, Metrics):
        hint = "diagnose_performance_issues(profiler.get_metrics())"
        raise UsageError(f"expected the metrics of a region, found a {type(metrics).__name__}", None, hint)
    issues: list[str] = []
    unchecked: dict[str, str] = {}
    for rule in _RULES:
        value = rule.figure(metrics)
        if not known(value):
            unchecked[rule.name] = str(reason_of(value))
        elif rule.is_issue(value):
            issues.append(rule.sentence.format(value))
    if metrics.memory.leaks is None:
        unchecked["memory.leaks"] = "detailed_memory is off"
    for leak in metrics.memory.leaks or ():
        issues.append(f"Memory leak: {leak.summary()}")
    return Diagnosis(issues, unchecked)
