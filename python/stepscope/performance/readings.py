"""Turns the readings of the machine during a period into metrics.

A period is often shorter than the time between two readings, so the reading before it and the one after it count too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .figure import known, unmeasured
from .metrics import MB, SystemMetrics
from .switched_off import IS_OFF

__all__ = ["Readings", "system_metrics"]

#: Argument of the profiler that turns a group of series on; memory is always read.
SWITCHES = {
    "cpu": "track_system",
    "disk": "track_system",
    "network": "track_network",
    "temperature": "track_cpu_temp",
    "gpu": "track_gpu",
    "energy": "track_carbon",
}

_GROUP_OF_SERIES = (
    (re.compile(r"gpu"), "gpu"),
    (re.compile(r"cpu_temperature"), "temperature"),
    (re.compile(r"cpu_energy"), "energy"),
    (re.compile(r"network"), "network"),
    (re.compile(r"disk_io_wait|cpu|process_cpu"), "cpu"),
    (re.compile(r"disk"), "disk"),
)

# What only ever grows may be off by what happened next to the while; more than this share of it is no figure.
_MOST_SLACK = 0.25

# Old readings are not kept for ever; one of much later says nothing of a while that has none left.
_MOST_DISTANCE_NS = 60_000_000_000


class _Reading(NamedTuple):
    time_ns: int
    value: float


class Readings:
    """All series from `start_ns` to `end_ns`, with the neighboring readings.

    `now` is a reading at `now_ns`. It is used where none was taken since the end, and has the reason for a missing
    series.
    """

    def __init__(
        self,
        series: Mapping[str, list[tuple[int, float]]],
        start_ns: int,
        end_ns: int,
        groups: frozenset[str],
        now_ns: int,
        now: Mapping[str, float | str],
    ) -> None:
        self.start_ns, self.end_ns = start_ns, end_ns
        self._groups = groups
        self._now = now
        self._series = {
            name: [_Reading(*row) for row in rows] for name, rows in series.items() if group_of(name) in groups
        }
        for name, value in now.items():
            rows = self._series.get(name, [])
            if not isinstance(value, str) and (not rows or rows[-1].time_ns < end_ns):
                self._series[name] = [*rows, _Reading(now_ns, value)]

    def names(self, pattern: str) -> list[str]:
        """Returns the names of matching series, such as one per GPU."""
        return sorted(name for name in self._series if re.fullmatch(pattern, name))

    def first(self, series: str) -> float:
        """Returns the value at the start."""
        return self._around(series, lambda rows: rows[0].value)

    def last(self, series: str) -> float:
        """Returns the value at the end."""
        return self._around(series, lambda rows: rows[-1].value)

    def peak(self, series: str) -> float:
        """Returns the largest value."""
        return self._around(series, lambda rows: max(reading.value for reading in rows))

    def least(self, series: str) -> float:
        """Returns the smallest value."""
        return self._around(series, lambda rows: min(reading.value for reading in rows))

    def average(self, series: str) -> float:
        """Returns the average. A reading covers the time since the previous one, so an earlier one seldom counts."""

        def mean(rows: list[_Reading]) -> float:
            values = [reading.value for reading in rows if reading.time_ns > self.start_ns] or [rows[-1].value]
            return sum(values) / len(values)

        return self._around(series, mean)

    def averages_by_window(self, series: str, window_ns: int) -> list[float]:
        """Returns the average of each window of time that has a reading."""
        windows: dict[int, list[float]] = {}
        for reading in self._rows(series):
            windows.setdefault((reading.time_ns - self.start_ns) // max(window_ns, 1), []).append(reading.value)
        return [sum(values) / len(values) for values in windows.values()]

    def growth(self, series: str) -> float:
        """Returns the growth of a counter that only grows, such as CPU time."""
        rows = self._rows(series)
        if len(rows) < 2 or rows[0].time_ns > self.start_ns or rows[-1].time_ns < self.end_ns:
            return unmeasured(self.missing(series) or "no reading was taken before and after")
        length_ns = self.end_ns - self.start_ns
        slack_ns = (self.start_ns - rows[0].time_ns) + (rows[-1].time_ns - self.end_ns)
        if slack_ns > _MOST_SLACK * length_ns:
            too_short = f"{length_ns / 1e6:,.3f} ms is too short for the time between readings"
            return unmeasured(f"{too_short}; lower memory_interval")
        return _value_at(rows, self.end_ns) - _value_at(rows, self.start_ns)

    def true_peak_ram_bytes(self) -> float:
        """Returns the kernel's peak of the process if it rose, which is exact; else the largest reading."""
        before, after = self.first("process_peak_rss_bytes"), self.last("process_peak_rss_bytes")
        return after if after > before else self.peak("process_rss_bytes")

    def missing(self, series: str) -> str | None:
        """Returns why a series has no readings; `None` if it has some."""
        if series in self._series:
            return None
        group = group_of(series)
        if not self._groups:
            return IS_OFF
        if group not in self._groups:
            return f"{SWITCHES[group]} is off"
        reasons = [
            value for name, value in self._now.items() if isinstance(value, str) and group_of(name) == group
        ]
        exact = self._now.get(series)
        return exact if isinstance(exact, str) else next(iter(reasons), "no reading was taken in that time")

    def _around(self, series: str, figure: Callable[[list[_Reading]], float]) -> float:
        rows = self._rows(series)
        return figure(rows) if rows else unmeasured(self.missing(series) or "no reading was taken in that time")

    def _rows(self, series: str) -> list[_Reading]:
        """Returns the readings within the period, the last before and the first after."""
        rows = self._series.get(series, [])
        before = [reading for reading in rows if reading.time_ns <= self.start_ns][-1:]
        within = [reading for reading in rows if self.start_ns < reading.time_ns < self.end_ns]
        after = [reading for reading in rows if reading.time_ns >= self.end_ns][:1]
        is_far = not before and not within and after and after[0].time_ns - self.end_ns > _MOST_DISTANCE_NS
        return [] if is_far else [*before, *within, *after]


def group_of(series: str) -> str:
    """Returns the group that a series belongs to."""
    return next((group for pattern, group in _GROUP_OF_SERIES if pattern.match(series)), "memory")


def system_metrics(readings: Readings, carbon_intensity_g_per_kwh: float | None) -> SystemMetrics:
    """Returns the metrics of the machine from readings."""
    energy, covers = _energy(readings)
    return SystemMetrics(
        cpu_percent=readings.average("cpu_percent"),
        process_cpu_percent=_process_cpu_percent(readings),
        memory_percent=readings.average("memory_percent"),
        disk_io_percent=readings.average("disk_io_percent"),
        disk_io_wait_percent=readings.average("disk_io_wait_percent"),
        disk_read_mb_per_s=readings.average("disk_read_bytes_per_s") / MB,
        disk_written_mb_per_s=readings.average("disk_written_bytes_per_s") / MB,
        network_received_mb_per_s=readings.average("network_received_bytes_per_s") / MB,
        network_sent_mb_per_s=readings.average("network_sent_bytes_per_s") / MB,
        cpu_temperature_celsius=readings.average("cpu_temperature_celsius"),
        gpu_temperature_celsius=of_gpus(readings, "temperature_celsius", max),
        gpu_power_watts=of_gpus(readings, "power_watts", sum),
        energy_joules=energy,
        energy_covers=covers,
        carbon_g=_carbon(energy, carbon_intensity_g_per_kwh),
    )


def _process_cpu_percent(readings: Readings) -> float:
    """Returns CPU time divided by the length of the period, as a reading covers more; for a moment, the reading."""
    length_s = (readings.end_ns - readings.start_ns) / 1e9
    if length_s <= 0:
        return readings.average("process_cpu_percent")
    return readings.growth("process_cpu_seconds") / length_s * 100


def of_gpus(readings: Readings, figure: str, combine: Callable[[list[float]], float]) -> float:
    """Averages each GPU, and combines them with `combine`."""
    averages = [readings.average(name) for name in readings.names(rf"gpu\d+_{figure}")]
    return combine(averages) if averages else unmeasured(readings.missing(f"gpu0_{figure}") or "no GPU reports it")


def _energy(readings: Readings) -> tuple[float, str]:
    if (reason := readings.missing("cpu_energy_joules")) == "track_carbon is off":
        return unmeasured(reason), "nothing"
    gpus = [readings.growth(name) for name in readings.names(r"gpu\d+_energy_joules")]
    cpu = readings.growth("cpu_energy_joules")
    parts = [("the CPU", [cpu]), (f"{len(gpus)} GPU{'s' if len(gpus) > 1 else ''}", gpus)]
    told = [(name, sum(values)) for name, values in parts if values and all(map(known, values))]
    if not told:
        return cpu, "nothing"
    return sum(joules for _, joules in told), " and ".join(name for name, _ in told)


def _carbon(energy_joules: float, intensity_g_per_kwh: float | None) -> float:
    if intensity_g_per_kwh is None and known(energy_joules):
        return unmeasured("the carbon intensity of your grid is not known; pass carbon_intensity_g_per_kwh")
    return energy_joules / 3.6e6 * (intensity_g_per_kwh or 0)


def _value_at(rows: list[_Reading], time_ns: int) -> float:
    """Interpolates linearly between two readings."""
    for before, after in zip(rows, rows[1:]):
        if before.time_ns <= time_ns <= after.time_ns:
            share = (time_ns - before.time_ns) / max(after.time_ns - before.time_ns, 1)
            return before.value + share * (after.value - before.value)
    return rows[-1].value
