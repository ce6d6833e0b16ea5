"""Monitors the requests of a service: latencies, SLA violations, mergeable reports, a log and Prometheus."""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from datetime import datetime
from typing import Any

from stepscope import _native
from stepscope.errors import UsageError
from stepscope.saying import say

from .hourly_report import Counts, HourlyReport, Latencies
from .profiler import PerformanceProfiler
from .request_log import MetricsLog, RequestLog, entry_of

__all__ = ["ProductionProfiler"]

_MINUTES_IN_REPORT = 60
# Requests that were measured and never logged are forgotten past this many.
_MOST_UNLOGGED = 10_000
_SECONDS_BETWEEN_ALERTS = 60.0
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ProductionProfiler:
    """Profiles the requests of a service, on all of its threads, in bounded memory.

    Every request is a call of the region `request`; only the log has its id.

    Args:
        sla_seconds: How long a request may take (service level agreement).
        log_path: File that gets one JSON object per request; no log by default.
        log_limit_mb: Size of the log at most. A full file is renamed to `<name>.1`, which counts too.
        profiler: Profiler to use instead of a new one.

    Raises:
        UsageError: `sla_seconds` is not more than 0, or the log cannot be written.
    """

    def __init__(
        self,
        sla_seconds: float = 2.0,
        log_path: str | os.PathLike[str] | None = None,
        *,
        log_limit_mb: float = 200,
        profiler: PerformanceProfiler | None = None,
    ) -> None:
        if not isinstance(sla_seconds, (int, float)) or not sla_seconds > 0:
            hint = "pass sla_seconds=2.0, for example"
            raise UsageError(f"sla_seconds: expected more than 0 seconds, found {sla_seconds!r}", None, hint)
        self.sla_seconds = sla_seconds
        self.profiler = PerformanceProfiler() if profiler is None else profiler
        self._region = self.profiler.profile("request")
        self._log = None if log_path is None else RequestLog(log_path, round(log_limit_mb * 1e6))
        self._requests = MetricsLog()
        self.metrics_log = self._requests
        """The last 10,000 logged requests, oldest first: one dictionary per request, as `log_metrics` writes it."""
        self._lock = threading.Lock()
        self._minutes: dict[int, Latencies] = {}
        self._since_start = Counts()
        self._buckets = sorted({*_BUCKETS_S, sla_seconds})
        self._bucket_counts = [0] * (len(self._buckets) + 1)
        self._unlogged: OrderedDict[Hashable, float] = OrderedDict()
        self._machine: tuple[float, float | None, float | None] = (-1.0, None, None)
        self._next_alert_s = 0.0
        self._silent_alerts = 0

    def profile_request(self, request_id: Hashable) -> _Request:
        """Measures a request: `with service.profile_request(request_id):`.

        Args:
            request_id: Any hashable id; pass the same one to `log_metrics`.
        """
        return _Request(self, request_id)

    def log_metrics(self, request_id: Hashable, user_facing_latency: float) -> None:
        """Counts and logs a request, and alerts if it took longer than `sla_seconds`.

        Args:
            request_id: Id of the request, as passed to `profile_request`.
            user_facing_latency: Seconds that the user waited.
        """
        is_valid = 0 <= user_facing_latency < float("inf")
        is_violation = is_valid and user_facing_latency > self.sla_seconds
        now_s = self._now_s()
        minute = int(now_s // 60)
        memory_mb, cpu_percent = self._machine_now()
        with self._lock:
            internal_latency = self._unlogged.pop(request_id, None) if self._unlogged else None
            of_minute = self._minutes.get(minute)
            if of_minute is None:
                of_minute = self._begin_minute(minute)
            for latencies in (of_minute, self._since_start):
                if is_valid:
                    latencies.add(user_facing_latency, is_violation)
                else:
                    latencies.invalid += 1
            if is_valid:
                self._bucket_counts[bisect_left(self._buckets, user_facing_latency)] += 1
            request = (
                now_s,
                request_id,
                internal_latency,
                user_facing_latency if is_valid else None,
                memory_mb,
                cpu_percent,
            )
            self._requests.append(request)
        if self._log is None and not is_violation:
            return
        entry = entry_of(request)
        entry["timestamp"] = datetime.fromtimestamp(now_s).astimezone().isoformat()
        if self._log is not None:
            self._log.write(entry)
        if is_violation:
            self.alert_sla_violation(entry)

    def alert_sla_violation(self, entry: dict[str, Any]) -> None:
        """Prints that a request took too long, at most one line per minute. Override it to send an alert.

        Args:
            entry: The request as logged.
        """
        with self._lock:
            now_s = time.monotonic()
            if now_s < self._next_alert_s:
                self._silent_alerts += 1
                return
            self._next_alert_s = now_s + _SECONDS_BETWEEN_ALERTS
            more, self._silent_alerts = self._silent_alerts, 0
        since = f" ({more:,} more since the last line)" if more else ""
        latency = entry["user_facing_latency"]
        limit = f"longer than the SLA of {self.sla_seconds:g} s"
        say(f"request {entry['request_id']} took {latency:.3f} s, {limit}{since}")

    def generate_hourly_report(self) -> HourlyReport:
        """Reports the requests of the last 60 minutes, including the current one."""
        last = int(self._now_s() // 60)
        first = last - _MINUTES_IN_REPORT + 1
        everything = Latencies()
        with self._lock:
            for minute, latencies in self._minutes.items():
                if first <= minute <= last:
                    everything.merge(latencies)
        return HourlyReport(everything, first, last)

    @staticmethod
    def merge_reports(reports: Iterable[HourlyReport | str]) -> HourlyReport:
        """Merges the reports of several processes into one.

        Args:
            reports: Reports, or the strings that `report.to_text()` returned.
        """
        return HourlyReport.merged(
            HourlyReport.from_text(report) if isinstance(report, str) else report for report in reports
        )

    def prometheus_text(self) -> str:
        """Returns the metrics since the start, in the text format of Prometheus."""
        memory_mb, cpu_percent = self._machine_now()
        memory_bytes = None if memory_mb is None else round(memory_mb * 1e6)
        name = "stepscope_request_latency_seconds"
        with self._lock:
            counts = list(self._bucket_counts)
            requests, total_ns = self._since_start.count, self._since_start.total_ns
            violations, invalid = self._since_start.sla_violations, self._since_start.invalid
        lines = [f"# HELP {name} Time that a user waited for a request.", f"# TYPE {name} histogram"]
        so_far = 0
        for bound, count in zip([*map(repr, self._buckets), "+Inf"], counts):
            so_far += count
            lines.append(f'{name}_bucket{{le="{bound}"}} {so_far}')
        lines += [f"{name}_sum {total_ns / 1e9!r}", f"{name}_count {requests}"]
        for figure, kind, value, meaning in (
            ("stepscope_requests_total", "counter", requests, "Requests that were logged."),
            ("stepscope_sla_violations_total", "counter", violations, "Requests that took longer than the SLA."),
            ("stepscope_invalid_latencies_total", "counter", invalid, "Requests logged without a usable latency."),
            ("stepscope_sla_seconds", "gauge", self.sla_seconds, "Latency of the SLA."),
            ("stepscope_memory_bytes", "gauge", memory_bytes, "Memory of the process."),
            ("stepscope_cpu_percent", "gauge", cpu_percent, "CPU use of all cores together."),
        ):
            if value is not None:
                lines += [f"# HELP {figure} {meaning}", f"# TYPE {figure} {kind}", f"{figure} {value!r}"]
        return "\n".join(lines) + "\n"

    def close(self) -> None:
        """Closes the log and the profiler. Calling it again does nothing."""
        if self._log is not None:
            self._log.close()
        self.profiler.close()

    def _begin_minute(self, minute: int) -> Latencies:
        """Starts a minute, and removes those that are too old for a report."""
        for old in [past for past in self._minutes if past <= minute - _MINUTES_IN_REPORT]:
            del self._minutes[old]
        return self._minutes.setdefault(minute, Latencies())

    def _note_internal_latency(self, request_id: Hashable, seconds: float) -> None:
        with self._lock:
            self._unlogged[request_id] = seconds
            if len(self._unlogged) > _MOST_UNLOGGED:
                self._unlogged.popitem(last=False)

    def _machine_now(self) -> tuple[float | None, float | None]:
        """Returns memory and CPU use, read at most once per second; `None` for what cannot be read."""
        read_s, memory_mb, cpu_percent = self._machine
        now_s = time.monotonic()
        # The use of the CPU is not known before it was read twice, so a new profiler asks again soon.
        if now_s - read_s < (0.1 if cpu_percent is None else 1.0) and read_s >= 0:
            return memory_mb, cpu_percent
        now = _native.system_now(["memory", "cpu"])
        memory_bytes = _number(now.get("process_rss_bytes"))
        memory_mb = None if memory_bytes is None else memory_bytes / 1e6
        cpu_percent = _number(now.get("cpu_percent"))
        self._machine = (now_s, memory_mb, cpu_percent)
        return memory_mb, cpu_percent

    @staticmethod
    def _now_s() -> float:
        return time.time()


class _Request:
    """Measures one request."""

    __slots__ = ("_begun_s", "_profiler", "_request_id")

    def __init__(self, profiler: ProductionProfiler, request_id: Hashable) -> None:
        self._profiler = profiler
        self._request_id = request_id

    def __enter__(self) -> _Request:
        self._begun_s = time.perf_counter()
        self._profiler._region.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        self._profiler._region.__exit__(*problem)
        self._profiler._note_internal_latency(self._request_id, time.perf_counter() - self._begun_s)


def _number(value: float | str | None) -> float | None:
    return None if value is None or isinstance(value, str) else value
