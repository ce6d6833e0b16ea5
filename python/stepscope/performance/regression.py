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
    """Holds the verdict on one run of an operation."""

    operation_name: str
    """Name of the region."""
    verdict: str
    """`ok`, `regression`, `inconclusive` or `no baseline`."""
    current_time_s: float
    """Duration of this run."""
    baseline_time_s: float | None
    """Duration in the baseline."""
    threshold: float
    """Allowed increase, as a share: 0.2 allows 20 % longer."""
    reason: str
    """Reason for the verdict, in a sentence."""

    def __str__(self) -> str:
        return f"{self.operation_name}: {self.verdict}: {self.reason}"


class PerformanceRegressionDetector:
    """Compares the times of operations with a baseline that `PerformanceProfiler.save_metrics` wrote.

    A regression calls `alert_regression`, which prints a line; override it for your CI. `results` holds every verdict.
    An operation without a baseline gets the verdict `no baseline`; call `save_baseline()` to make this run the
    baseline.

    Args:
        baseline_metrics_path: File of the baseline; it need not exist yet.
    """

    def __init__(self, baseline_metrics_path: str | os.PathLike[str]) -> None:
        self.path = baseline_metrics_path
        self.profiler = PerformanceProfiler()
        self.baseline = self.load_baseline(baseline_metrics_path)
        self.results: list[RegressionResult] = []

    def load_baseline(self, path: str | os.PathLike[str]) -> dict[str, Row]:
        """Reads the metrics of a baseline by operation; empty if the file does not exist yet.

        Args:
            path: File that `save_metrics` or `save_baseline` wrote.
        """
        try:
            return read_rows(path)
        except NotFoundError:
            say(f"no baseline found; call save_baseline() to make this run the baseline: {os.fspath(path)}")
            return {}

    def save_baseline(self, path: str | os.PathLike[str] | None = None) -> None:
        """Writes the metrics of this run as the baseline of later runs.

        Args:
            path: File to write; by default the one that the baseline was read from, which is overwritten.
        """
        self.profiler.save_metrics(self.path if path is None else path)

    @contextmanager
    def check_regression(self, operation_name: str, threshold: float = 0.2) -> Iterator[None]:
        """Measures the block, and alerts if it takes longer than the baseline allows.

        Args:
            operation_name: Name of the region.
            threshold: Allowed increase, as a share: 0.2 allows 20 % longer than the baseline.
        """
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
        """Prints a regression on standard error. Override it to fail a test or to send a message.

        Args:
            operation_name: Name of the region.
            baseline_time: Seconds in the baseline.
            current_time: Seconds of this run.
        """
        say(
            f"regression: {operation_name} took {current_time:.4g} s, "
            f"{current_time / baseline_time - 1:+.0%} compared with the baseline of {baseline_time:.4g} s"
        )

    def has_regression(self) -> bool:
        """Returns whether any operation so far was a regression."""
        return any(result.verdict == REGRESSION for result in self.results)

    def _was_said(self, result: RegressionResult) -> bool:
        """Returns whether a result was already printed, or the missing baseline was."""
        return not os.path.exists(self.path) or any(str(result) == str(before) for before in self.results[:-1])

    def _judge(self, name: str, current_s: float, threshold: float) -> RegressionResult:
        row = self.baseline.get(name)
        base_s = None if row is None else row["wall_time_s"]
        if row is None or base_s is None:
            reason = "the baseline does not have it; call save_baseline() to make this run the baseline"
            return RegressionResult(name, NO_BASELINE, current_s, None, threshold, reason)
        change = f"{current_s:.4g} s, baseline {base_s:.4g} s"
        limit_s = base_s * (1 + threshold)
        slow_s, slowest_s = row.get("p95_s"), row.get("max_s")
        if current_s <= limit_s:
            verdict, reason = OK, f"{change}, limit {limit_s:.4g} s"
        elif slow_s is None or slowest_s is None or (row.get("calls") or 0) < 2:
            verdict, reason = REGRESSION, f"{change}; the baseline is one run, so its noise is not known"
        elif slow_s > limit_s and current_s <= slowest_s * (1 + threshold):
            verdict = INCONCLUSIVE
            reason = f"{change}, but the baseline itself took up to {slowest_s:.4g} s; measure it again with less noise"
        else:
            verdict, reason = REGRESSION, f"{change}; the baseline took {slow_s:.4g} s at its 95th percentile"
        return RegressionResult(name, verdict, current_s, base_s, threshold, reason)
