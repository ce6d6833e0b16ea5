"""Regions and metrics of a profiler with `enabled=False`: they measure nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from .figure import unmeasured
from .metrics import ComputeMetrics, MemoryMetrics, Metrics, SystemMetrics, TimingMetrics

__all__ = ["IS_OFF", "RegionThatIsOff", "metrics_of_nothing"]

Function = TypeVar("Function", bound=Callable[..., Any])
IS_OFF = "the profiler is off (enabled=False)"
_PLAIN: dict[str, Any] = {"leaks": None, "calls": 0, "energy_covers": "nothing"}


class RegionThatIsOff:
    """A region that measures nothing; decorated functions stay unmodified."""

    def __init__(self, name: str, samples: int | None = None) -> None:
        self.name = name

    def __enter__(self) -> RegionThatIsOff:
        return self

    def __exit__(self, *problem: object) -> None:
        return None

    def __call__(self, function: Function) -> Function:
        return function


def metrics_of_nothing(name: str) -> Metrics:
    """Returns the metrics of a region that was not measured."""

    def nothing(group: Any) -> Any:
        values = {field.name: unmeasured(IS_OFF) for field in fields(group)}
        return group(**values | {name: value for name, value in _PLAIN.items() if name in values})

    return Metrics(
        name=name,
        memory=nothing(MemoryMetrics),
        timing=nothing(TimingMetrics),
        compute=nothing(ComputeMetrics),
        system=nothing(SystemMetrics),
        throughput=unmeasured(IS_OFF),
    )
