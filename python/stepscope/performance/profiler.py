"""Measures regions of a program: time, memory, FLOPs, the machine."""

from __future__ import annotations

import difflib
import os
import time
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from stepscope import _native
from stepscope.errors import RegionError, UsageError
from stepscope.saying import say

from . import recording
from .annotations import follow_torch
from .comparison import Comparison
from .figure import incomplete, unmeasured
from .leaks import Leak
from .metrics import MB, ComputeMetrics, MemoryMetrics, Metrics, SystemMetrics, TimingMetrics
from .readings import Readings, of_gpus, system_metrics
from .saved import Row, read_rows, row_of, write_rows
from .switched_off import RegionThatIsOff, metrics_of_nothing
from .system_report import SystemReport, system_report
from .watched import Measured, WatchedRegion, Watchers

if TYPE_CHECKING:
    from stepscope.lines import LineProfile

__all__ = ["PerformanceProfiler"]

_WHY_DROPPED = {
    "dropped_ring_full": "they ended faster than they could be collected; put more work into each region",
    "dropped_no_ring": "too many threads had regions at once",
    "dropped_left_elsewhere": "they were closed on another thread or task than opened",
}


class PerformanceProfiler:
    """Measures regions of a program: time, memory, FLOPs and the machine.

    >>> profiler = PerformanceProfiler()
    >>> with profiler.profile("training"):
    ...     with profiler.profile("loading", samples=32):
    ...         batch = list(range(1000))
    >>> profiler.get_metrics().timing.calls
    1
    >>> list(profiler.get_timing_breakdown())
    ['loading', 'training']
    >>> profiler.close()

    A separate thread that does not need the interpreter reads memory and the machine.

    Args:
        track_gpu: Read utilization, memory, temperature and power of GPUs.
        track_carbon: Read energy; with `carbon_intensity_g_per_kwh`, also compute emissions.
        detailed_memory: Trace Python's allocations, for peaks and leaks; slows the program down.
        memory_interval: Seconds between readings of memory.
        track_cpu_temp: Read the temperature of the CPU.
        track_network: Read network traffic.
        enable_line_profiling: Time every line that runs in a region; slows the program down.
        estimate_flops: Count the FLOPs of torch's operators; slows the program down.
        track_system: Read CPU and disks.
        system_interval: Seconds between readings of the machine.
        enabled: `False` turns everything off, and leaves decorated functions unmodified.
        record: Folder to write all measurements to; open it with `stepscope open FOLDER`.
        record_limit_mb: Megabytes that each process may write there.
        carbon_intensity_g_per_kwh: Grams of CO₂ per kWh of your grid.

    Raises:
        UsageError: An interval or limit is not more than 0, or `record` cannot be written to.
    """

    def __init__(
        self,
        track_gpu: bool = False,
        track_carbon: bool = False,
        detailed_memory: bool = False,
        memory_interval: float = 0.1,
        track_cpu_temp: bool = False,
        track_network: bool = False,
        enable_line_profiling: bool = False,
        estimate_flops: bool = False,
        track_system: bool = True,
        system_interval: float = 1.0,
        *,
        enabled: bool = True,
        record: str | os.PathLike[str] | None = None,
        record_limit_mb: float = 1000,
        carbon_intensity_g_per_kwh: float | None = None,
    ) -> None:
        for name, seconds in (("memory_interval", memory_interval), ("system_interval", system_interval)):
            _check_number(name, seconds, "seconds", 0.1)
        _check_number("record_limit_mb", record_limit_mb, "MB", 1000)
        self._is_enabled = enabled
        self._carbon_intensity = carbon_intensity_g_per_kwh
        self._system_interval_ns = round(system_interval * 1e9)
        self._watchers: Watchers | None = None
        self._last_readings: tuple[int, dict[str, float | str]] | None = None
        self._begun_ns = time.time_ns()
        self._counts_before = _native.recording_counts()
        # Only a regression detector knows them: a region keeps a histogram of its calls.
        self._call_times_s: dict[str, list[float]] = {}
        self.recording: str | None = None
        """File that measurements are written to; `None` without `record`."""
        switches = {
            "memory": (enabled, memory_interval),
            # CPU time is read as often as memory, so that short regions have one.
            "cpu": (track_system, min(memory_interval, system_interval)),
            "disk": (track_system, system_interval),
            "network": (track_network, system_interval),
            "temperature": (track_cpu_temp, system_interval),
            "gpu": (track_gpu or track_carbon, memory_interval),
            "energy": (track_carbon, system_interval),
        }
        groups = {group: interval for group, (is_on, interval) in switches.items() if is_on and enabled}
        self._groups = frozenset(groups)
        self._release: list[weakref.finalize[Any, Any]] = []
        self._recorder = _native.RegionRecorder()
        if not enabled:
            self._hand_out(RegionThatIsOff)
            return
        self._hand_out(self._recorder.profile)
        follow_torch()
        self._release.append(weakref.finalize(self, _native.unwatch_system, _native.watch_system(groups)))
        if record is None:
            recording.join()
        else:
            self.recording = recording.start(record, round(record_limit_mb * MB))
            self._release.append(weakref.finalize(self, recording.stop))
        if estimate_flops or enable_line_profiling or detailed_memory:
            self._watchers = Watchers(
                estimate_flops=estimate_flops, line_profiling=enable_line_profiling, detailed_memory=detailed_memory
            )
            self._release.append(weakref.finalize(self, self._watchers.close))
            # Only here does a region run Python code of ours.
            self._hand_out(self._watched_region)

    def __enter__(self) -> PerformanceProfiler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the readings and the recording; metrics stay available. Calling it again does nothing."""
        if not self._is_enabled or self._last_readings is not None:
            return
        self._last_readings = self._readings_now()
        for release in self._release:
            release()
        _say_what_was_lost(self._counts_before, self.recording)

    def profile(self, name: str, samples: int | None = None) -> _native.Region:
        """Returns a region: a context manager, and a decorator for functions and coroutine functions.

        It can be reused and nested, on any thread and in any asyncio task.

        Args:
            name: Name of the region; calls with the same name add up.
            samples: Samples that a call works on, for the throughput.
        """
        region: _native.Region = self._region_of(name, samples)
        return region

    def get_metrics(self, name: str | None = None) -> Metrics:
        """Returns all metrics of a region that has closed.

        Args:
            name: Name of the region; the outermost region that closed last by default.

        Raises:
            RegionError: No region of that name has closed.
        """
        if not self._is_enabled:
            return metrics_of_nothing(name or "")
        totals = self._totals(name)
        readings = self._readings(totals.last_start_ns, totals.last_end_ns)
        return Metrics(
            name=totals.name,
            memory=self._memory(totals.name, readings),
            timing=_timing(totals, readings, self._why_dropped()),
            compute=self._compute(totals, readings),
            system=system_metrics(readings, self._carbon_intensity),
            throughput=_throughput(totals),
        )

    def get_timing_breakdown(self) -> dict[str, float]:
        """Returns seconds per region over all calls, without the regions inside it; they add up to the covered time."""
        if not self._is_enabled:
            return {}
        why = self._why_dropped()
        return {totals.name: incomplete(totals.self_ns / 1e9, why) for totals in self._recorder.totals()}

    def get_current_memory(self) -> float:
        """Returns the memory of the process in MB. With `detailed_memory`, also ends a step, as `mark_step()` does."""
        if self._watchers is not None and self._watchers.has_open_region():
            self._watchers.mark_step()
        return _now("memory", "process_rss_bytes") / MB

    def get_current_gpu_memory(self) -> float:
        """Returns the share of memory in use on the fullest GPU, 0 to 1; `nan` with a reason if there is none."""
        now = _native.system_now(["gpu"])
        shares = []
        for name, total in now.items():
            used = now.get(name.replace("_total_", "_used_"))
            if name.endswith("_memory_total_bytes") and isinstance(total, float) and isinstance(used, float):
                shares.append(used / total)
        reason = next((value for value in now.values() if isinstance(value, str)), "no GPU reports its memory")
        return max(shares) if shares else unmeasured(reason)

    def get_current_system_stats(self) -> SystemMetrics:
        """Reads the machine now: CPU, memory, disks, and what else this profiler tracks."""
        now_ns, now = self._readings_now()
        readings = Readings({}, now_ns, now_ns, self._groups, now_ns, now)
        return system_metrics(readings, self._carbon_intensity)

    def get_system_report(self) -> SystemReport:
        """Reports averages, peaks and minimums of all readings since the profiler was created.

        Keeps the last 200,000 readings, so the report of a long run covers only its last part.
        """
        end_ns = time.time_ns() if self._last_readings is None else self._last_readings[0]
        return system_report(self._readings(self._begun_ns, end_ns), self._system_interval_ns)

    def get_line_profile(self) -> LineProfile:
        """Returns the lines that ran while a region was open, with `line_number`, `time_percent` and more.

        Raises:
            UsageError: The profiler was created without `enable_line_profiling=True`.
        """
        if self._watchers is None or self._watchers.lines is None:
            if self._is_enabled:
                hint = "PerformanceProfiler(enable_line_profiling=True)"
                raise UsageError("line profiling is off", None, hint)
            from stepscope.lines import LineProfile

            return LineProfile([], 0)
        profile: LineProfile = self._watchers.lines.result()
        return profile

    def mark_step(self) -> None:
        """Ends a step of the innermost open region; `get_leaks()` finds memory that grows from step to step.

        If it is never called, every call of a region is a step. Does nothing without `detailed_memory`.
        """
        if self._watchers is not None:
            self._watchers.mark_step()

    def get_leaks(self) -> tuple[Leak, ...]:
        """Finds memory that grows from step to step, and the lines that allocate it; largest first.

        Needs eight steps or more.

        Raises:
            UsageError: The profiler was created without `detailed_memory=True`.
        """
        leaks = None if self._watchers is None else self._watchers.leaks_of(None)
        if leaks is None and self._is_enabled:
            hint = "PerformanceProfiler(detailed_memory=True)"
            raise UsageError("leak detection is off", None, hint)
        return leaks or ()

    def compare(
        self, *names: str, runs: Mapping[str, PerformanceProfiler | str | os.PathLike[str]] | None = None
    ) -> Comparison:
        """Compares regions with the first of them, or with other runs.

        Args:
            names: Names of regions; all regions by default.
            runs: Other runs by name: profilers, or files that `save_metrics` wrote. Every region is then compared with
                itself in the first of them, and this profiler is the run `this`.

        Raises:
            RegionError: A region does not exist.
        """
        if not self._is_enabled:
            return Comparison({})
        if runs is None:
            rows = self._rows()
            return Comparison({name: rows[self._known_name(name)] for name in names or rows})
        by_run: dict[str, dict[str, Row]] = {}
        for label, run in [*runs.items(), ("this", self)]:
            by_run[label] = run._rows() if isinstance(run, PerformanceProfiler) else read_rows(run)
        wanted = names or tuple(dict.fromkeys(name for rows in by_run.values() for name in rows))
        found: dict[str, Row] = {}
        bases: dict[str, str] = {}
        for name in wanted:
            labels = [f"{name} ({run})" for run in by_run if name in by_run[run]]
            if not labels:
                raise RegionError(f"no run has a region of that name: `{name}`", None, _nearest(name, self._rows()))
            found |= {f"{name} ({run})": rows[name] for run, rows in by_run.items() if name in rows}
            bases |= dict.fromkeys(labels, labels[0])
        return Comparison(found, bases)

    def save_metrics(self, path: str | os.PathLike[str]) -> None:
        """Writes the metrics of all regions as JSON, for `compare` or as a baseline.

        Args:
            path: File to write; an existing one is overwritten.

        Raises:
            UsageError: The file cannot be written.
        """
        write_rows(path, self._rows(), {name: [times_s] for name, times_s in self._call_times_s.items()})

    def _hand_out(self, region_of: Callable[..., Any]) -> None:
        self._region_of = region_of
        # What hands out regions stands in for the method, which would be one call of Python more in each of them;
        # unless a class made from this one has a method of its own.
        if type(self).profile is PerformanceProfiler.profile:
            vars(self)["profile"] = region_of

    def _watched_region(self, name: str, samples: int | None = None) -> WatchedRegion:
        assert self._watchers is not None
        return WatchedRegion(self._recorder.profile(name, samples), self._watchers)

    def _rows(self) -> dict[str, Row]:
        if not self._is_enabled:
            return {}
        return {totals.name: row_of(self.get_metrics(totals.name)) for totals in self._recorder.totals()}

    def _known_name(self, name: str) -> str:
        return self._totals(name).name

    def _totals(self, name: str | None) -> _native.RegionTotals:
        regions = {totals.name: totals for totals in self._recorder.totals()}
        wanted = self._recorder.last_outermost() if name is None else name
        if wanted in regions:
            return regions[wanted]
        if not regions:
            hint = 'run `with profiler.profile("name"):` first; a region counts once it has closed'
            raise RegionError("no region has closed yet", None, self._why_dropped() or hint)
        hints = [self._why_dropped(), _nearest(str(wanted), regions)]
        raise RegionError(f"no region of that name has closed: `{wanted}`", None, "; ".join(filter(None, hints)))

    def _why_dropped(self) -> str | None:
        """Returns why regions of this process were dropped since the profiler was created; `None` if none were."""
        counts = _native.recording_counts()
        reasons = [why for name, why in _WHY_DROPPED.items() if counts[name] > self._counts_before[name]]
        return f"regions were dropped: {'; '.join(reasons)}" if reasons else None

    def _readings_now(self) -> tuple[int, dict[str, float | str]]:
        if self._last_readings is not None:
            return self._last_readings
        now = _native.system_now(sorted(self._groups))
        return time.time_ns(), now

    def _readings(self, start_ns: int, end_ns: int) -> Readings:
        now_ns, now = self._readings_now()
        return Readings(_native.system_between(start_ns, end_ns), start_ns, end_ns, self._groups, now_ns, now)

    def _memory(self, name: str, readings: Readings) -> MemoryMetrics:
        start, end = readings.first("process_rss_bytes") / MB, readings.last("process_rss_bytes") / MB
        return MemoryMetrics(
            peak_ram_mb=readings.true_peak_ram_bytes() / MB,
            start_ram_mb=start,
            end_ram_mb=end,
            growth_mb=end - start,
            peak_gpu_mb=readings.peak("gpu_process_memory_bytes") / MB,
            python_peak_mb=self._measured(name).python_peak_mb,
            leaks=None if self._watchers is None else self._watchers.leaks_of(name),
        )

    def _compute(self, totals: _native.RegionTotals, readings: Readings) -> ComputeMetrics:
        measured = self._measured(totals.name)
        wall_time_s = (totals.last_end_ns - totals.last_start_ns) / 1e9
        flops, parameters = measured.flops, measured.parameters
        no_parameters = unmeasured("no operator received a parameter")
        return ComputeMetrics(
            estimated_flops=flops,
            flops_per_param=flops / parameters if parameters else no_parameters,
            flops_per_second=flops / wall_time_s if wall_time_s else unmeasured("the region took no time"),
            parameters=parameters,
            calls_without_flops=measured.calls_without_flops,
            gpu_utilization_percent=of_gpus(readings, "utilization_percent", lambda all: sum(all) / len(all)),
        )

    def _measured(self, name: str) -> Measured:
        measured = None if self._watchers is None else self._watchers.measured(name)
        if measured is not None:
            return measured
        off = unmeasured("estimate_flops is off")
        return Measured(off, off, off, unmeasured("detailed_memory is off"))


def _timing(totals: _native.RegionTotals, readings: Readings, why_dropped: str | None) -> TimingMetrics:
    of_calls = (why_dropped or "regions were dropped") if totals.has_dropped else None

    def part(value: Any) -> Any:
        return incomplete(value, of_calls)

    return TimingMetrics(
        wall_time_s=(totals.last_end_ns - totals.last_start_ns) / 1e9,
        cpu_time_s=readings.growth("process_cpu_seconds"),
        # A region inside that was dropped counts as the time of the one around it.
        self_time_s=incomplete(totals.self_ns / 1e9, of_calls or why_dropped),
        total_time_s=part(totals.total_ns / 1e9),
        calls=part(totals.count),
        mean_s=part(totals.total_ns / totals.count / 1e9),
        min_s=part(totals.shortest_ns / 1e9),
        max_s=part(totals.longest_ns / 1e9),
        p50_s=part(_percentile_s(totals, 50)),
        p95_s=part(_percentile_s(totals, 95)),
        p99_s=part(_percentile_s(totals, 99)),
    )


def _throughput(totals: _native.RegionTotals) -> float:
    """Returns samples per second: from the samples of the region, else from those of the regions inside it."""
    own = totals.samples, totals.samples_ns
    for samples, over_ns in (own, (totals.inner_samples, totals.inner_samples_ns)):
        if samples is not None and over_ns > 0:
            return samples / (over_ns / 1e9)
    return unmeasured("no samples were passed; call profile(name, samples=n)")


def _percentile_s(totals: _native.RegionTotals, percent: float) -> float:
    # Percentiles are within 1 %; the shortest and the longest call are exact, and no call lies outside.
    return min(max(totals.percentile_ns(percent), totals.shortest_ns), totals.longest_ns) / 1e9


def _say_what_was_lost(before: Mapping[str, int], recording: str | None) -> None:
    counts = _native.recording_counts()
    for name, why in _WHY_DROPPED.items():
        if (lost := counts[name] - before[name]) > 0:
            say(f"{_regions(lost)} of this process {'was' if lost == 1 else 'were'} not measured: {why}")
    if recording is not None and (lost := counts["dropped_past_limit"]):
        why = "the file has reached record_limit_mb, or the disk was too slow"
        say(f"{_regions(lost)} {'is' if lost == 1 else 'are'} missing in {recording}: {why}")
    if recording is not None and (failure := _native.recording_failure()):
        say(f"the recording ended early: {failure}")


def _regions(count: int) -> str:
    return "1 region" if count == 1 else f"{count:,} regions"


def _check_number(name: str, value: Any, unit: str, example: float) -> None:
    if not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        hint = f"pass {name}={example}, for example"
        raise UsageError(f"{name}: expected more than 0 {unit}, found {value!r}", None, hint)


def _now(group: str, series: str) -> float:
    value = _native.system_now([group]).get(series, "it cannot be read on this machine")
    return unmeasured(value) if isinstance(value, str) else value


def _nearest(name: str, regions: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, regions, 1)
    if near:
        return f"did you mean `{near[0]}`?"
    return f"pass one of: {', '.join(f'`{region}`' for region in list(regions)[:10])}"
