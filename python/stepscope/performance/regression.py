"""Compares regions with a baseline, for tests and CI."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from stepscope.errors import NotFoundError
from stepscope.saying import say

from .profiler import PerformanceProfiler
from .saved import Row, read_rows

__all__ = ["PerformanceRegressionDetector", "RegressionResult"]

OK = "ok"
REGRESSION = "regression"
INCONCLUSIVE = "inconclusive"
NO_BASELINE = "no baseline"


@dataclass(frozen=True)
class RegressionResult:
    """The verdict on one run of an operation."""

    operation_name: str
    """The region."""
    verdict: str
    """`ok`, `regression`, `inconclusive` or `no baseline`."""
    current_time_s: float
    """How long it took."""
    baseline_time_s: float | None
    """How long it takes in the baseline."""
    threshold: float
    """How much longer is allowed, as a share."""
    reason: str
    """Why this verdict, in a sentence."""

    def __str__(self) -> str:
        return f"{self.operation_name}: {self.verdict}: {self.reason}"


class PerformanceRegressionDetector:
    """Runs operations and compares their times with a baseline, a file of `PerformanceProfiler.save_metrics`.

    A regression calls `alert_regression`, which prints; override it to do what your CI needs. Every verdict is kept in
    `results`. An operation that has no baseline gets the verdict `no baseline`; `save_baseline` makes this run
    the baseline.
    """

    def __init__(self, baseline_metrics_path: str | os.PathLike[str]) -> None:
        self.path = baseline_metrics_path
        self.profiler = PerformanceProfiler()
        self.baseline = self.load_baseline(baseline_metrics_path)
        self.results: list[RegressionResult] = []

    def load_baseline(self, path: str | os.PathLike[str]) -> dict[str, Row]:
        """Figures by operation; none if there is no such file yet."""
        try:
            return read_rows(path)
        except NotFoundError:
            say(f"there is no baseline at {os.fspath(path)} yet; save_baseline() makes this run the baseline")
            return {}

    def save_baseline(self, path: str | os.PathLike[str] | None = None) -> None:
        """Writes what this detector measured as the baseline of later runs, in place of the one it read."""
        self.profiler.save_metrics(self.path if path is None else path)

    @contextmanager
    def check_regression(self, operation_name: str, threshold: float = 0.2) -> Iterator[None]:
        """Measures the block, and alerts if it takes more than `threshold` longer than in the baseline."""
        with self.profiler.profile(operation_name):
            yield
        current_s = self.profiler.get_metrics(operation_name).timing.wall_time_s
        result = self._judge(operation_name, current_s, threshold)
        self.results.append(result)
        if result.verdict == REGRESSION and result.baseline_time_s is not None:
            self.alert_regression(operation_name, result.baseline_time_s, current_s)
        elif result.verdict != OK and not self._was_said(result):
            say(str(result))

    def alert_regression(self, operation_name: str, baseline_time: float, current_time: float) -> None:
        """What happens at a regression: a line on standard error. Override it to fail, to send a message, …"""
        say(
            f"regression: {operation_name} took {current_time:.4g} s, "
            f"{current_time / baseline_time - 1:+.0%} against the baseline of {baseline_time:.4g} s"
        )

    def has_regression(self) -> bool:
        """Whether any operation so far was a regression."""
        return any(result.verdict == REGRESSION for result in self.results)

    def _was_said(self, result: RegressionResult) -> bool:
        """Whether it is no news: there is no baseline at all, or the same result came before."""
        return not os.path.exists(self.path) or any(str(result) == str(before) for before in self.results[:-1])

    def _judge(self, name: str, current_s: float, threshold: float) -> RegressionResult:
        row = self.baseline.get(name)
        base_s = None if row is None else row["wall_time_s"]
        if row is None or base_s is None:
            reason = "the baseline does not have it; save_baseline() makes this run the baseline"
            return RegressionResult(name, NO_BASELINE, current_s, None, threshold, reason)
        change = f"{current_s:.4g} s against {base_s:.4g} s"
        limit_s = base_s * (1 + threshold)
        slow_s, slowest_s = row.get("p95_s"), row.get("max_s")
        if current_s <= limit_s:
            verdict, reason = OK, f"{change}, allowed is {limit_s:.4g} s"
        elif slow_s is None or slowest_s is None or (row.get("calls") or 0) < 2:
            verdict, reason = REGRESSION, f"{change}; the baseline is one run, so its noise is not known"
        elif slow_s > limit_s and current_s <= slowest_s * (1 + threshold):
            verdict = INCONCLUSIVE
            reason = f"{change}, but the baseline itself took up to {slowest_s:.4g} s; measure it more steadily"
        else:
            verdict, reason = REGRESSION, f"{change}; the baseline took {slow_s:.4g} s at its 95th percentile"
        return RegressionResult(name, verdict, current_s, base_s, threshold, reason)
