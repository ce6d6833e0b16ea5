"""Adds up request latencies, so that reports of many minutes and processes can be merged exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from stepscope._native import LatencyHistogram
from stepscope.errors import UsageError

from .figure import unmeasured

__all__ = ["Counts", "HourlyReport", "Latencies"]


class Counts:
    """Counts requests and their latencies. Uses whole numbers, so the order of adding changes nothing."""

    def __init__(self) -> None:
        self.count = 0
        self.total_ns = 0
        self.longest_ns = 0
        self.sla_violations = 0
        self.invalid = 0

    def add(self, seconds: float, is_violation: bool) -> None:
        """One request."""
        latency_ns = round(seconds * 1e9)
        self.count += 1
        self.total_ns += latency_ns
        self.longest_ns = max(self.longest_ns, latency_ns)
        self.sla_violations += is_violation


class Latencies(Counts):
    """Counts the requests of a period, with percentiles."""

    def __init__(self) -> None:
        super().__init__()
        self.histogram = LatencyHistogram()

    def add(self, seconds: float, is_violation: bool) -> None:
        """One request."""
        super().add(seconds, is_violation)
        self.histogram.add(seconds)

    def merge(self, other: Latencies) -> None:
        """Adds all requests of another period."""
        self.histogram.merge(other.histogram)
        self.count += other.count
        self.total_ns += other.total_ns
        self.longest_ns = max(self.longest_ns, other.longest_ns)
        self.sla_violations += other.sla_violations
        self.invalid += other.invalid


class HourlyReport(dict[str, Any]):
    """Reports the requests of a period as a dictionary.

    Keys: `period_start`, `period_end`, `requests_processed`, `average_latency`, `p50_latency`, `p95_latency`,
    `p99_latency`, `max_latency`, `sla_violations` and `invalid_latencies`. Latencies are in seconds; percentiles are
    within 1 %. To merge reports of several processes, send `to_text()` to one of them.
    """

    def __init__(self, latencies: Latencies, first_minute: int, last_minute: int) -> None:
        self._latencies = latencies
        self._minutes = (first_minute, last_minute)
        nothing = unmeasured("no request was logged in that time")
        has_any = latencies.count > 0

        def percentile(percent: float) -> float:
            # The histogram is within 1 %, and nothing is longer than the longest.
            return min(latencies.histogram.percentile(percent), latencies.longest_ns / 1e9)

        super().__init__(
            period_start=_minute_in_words(first_minute),
            period_end=_minute_in_words(last_minute + 1),
            requests_processed=latencies.count,
            average_latency=latencies.total_ns / latencies.count / 1e9 if has_any else nothing,
            p50_latency=percentile(50) if has_any else nothing,
            p95_latency=percentile(95) if has_any else nothing,
            p99_latency=percentile(99) if has_any else nothing,
            max_latency=latencies.longest_ns / 1e9 if has_any else nothing,
            sla_violations=latencies.sla_violations,
            invalid_latencies=latencies.invalid,
        )

    def to_text(self) -> str:
        """Returns the report as one line of text, for another process to merge."""
        latencies = self._latencies
        return json.dumps(
            {
                "minutes": self._minutes,
                "count": latencies.count,
                "total_ns": latencies.total_ns,
                "longest_ns": latencies.longest_ns,
                "sla_violations": latencies.sla_violations,
                "invalid": latencies.invalid,
                "histogram": latencies.histogram.to_text(),
            }
        )

    @staticmethod
    def from_text(text: str) -> HourlyReport:
        """Reads a report that `to_text()` wrote.

        Raises:
            UsageError: The text is not a report.
        """
        try:
            document = json.loads(text)
            latencies = Latencies()
            latencies.histogram = LatencyHistogram.from_text(document["histogram"])
            latencies.count = document["count"]
            latencies.total_ns = document["total_ns"]
            latencies.longest_ns = document["longest_ns"]
            latencies.sla_violations = document["sla_violations"]
            latencies.invalid = document["invalid"]
            first_minute, last_minute = document["minutes"]
        except (KeyError, TypeError, ValueError) as error:
            hint = "pass what HourlyReport.to_text() returned"
            what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise UsageError(f"expected an hourly report, found other text: {what}", None, hint) from error
        return HourlyReport(latencies, first_minute, last_minute)

    @staticmethod
    def merged(reports: Iterable[HourlyReport]) -> HourlyReport:
        """Merges reports into one, the same as if one process had logged everything.

        Raises:
            UsageError: There is no report.
        """
        everything = Latencies()
        firsts: list[int] = []
        lasts: list[int] = []
        for report in reports:
            everything.merge(report._latencies)
            firsts.append(report._minutes[0])
            lasts.append(report._minutes[1])
        if not firsts:
            raise UsageError("found no report to merge, expected one or more", None, "pass one report per process")
        return HourlyReport(everything, min(firsts), max(lasts))

    def __str__(self) -> str:
        lines = [f"{self['period_start']} to {self['period_end']}"]
        for name, value in self.items():
            if name.endswith("_latency"):
                shown = "–" if math.isnan(value) else f"{value * 1e3:,.3f} ms"
                lines.append(f"{name:<20} {shown:>14}")
            elif not name.startswith("period"):
                lines.append(f"{name:<20} {value:>14,}")
        return "\n".join(lines)


def _minute_in_words(minute: int) -> str:
    return datetime.fromtimestamp(minute * 60, timezone.utc).strftime("%Y-%m-%dT%H:%MZ")
