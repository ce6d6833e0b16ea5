"""Compares regions with a baseline, for tests and CI."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from stepscope.errors import NotFoundError
from stepscope.gate import VALUES_LEAST, GateVerdict, judge
from stepscope.saying import say

from .profiler import PerformanceProfiler
from .saved import Row, read_rows, read_runs, write_rows

__all__ = ["PerformanceRegressionDetector", "RegressionResult"]

OK = "ok"
REGRESSION = "regression"
INCONCLUSIVE = "inconclusive"
NO_BASELINE = "no baseline"

#: Verdicts that need no word to the user.
_GOOD = (OK, "pass", "improvement")

#: Baselines that do not show how much runs differ.
_FEW_RUNS = {1: "one run", 2: "two runs"}

#: The smallest change that a pass excludes.
_EXCLUDE_LEAST = 0.05


@dataclass(frozen=True)
class RegressionResult:
    """Holds the verdict on an operation, after one of its calls."""

    operation_name: str
    """Name of the region."""
    verdict: str
    """`pass`, `improvement`, `regression` or `inconclusive` if tested; else `ok`, `regression`, `inconclusive` or
    `no baseline`."""
    current_time_s: float
    """Duration of this call."""
    baseline_time_s: float | None
    """Duration in the baseline: the median if tested."""
    threshold: float
    """Allowed increase, as a share: 0.2 allows 20 % longer."""
    reason: str
    """Reason for the verdict, in a sentence."""
    gate: GateVerdict | None = None
    """Test of all calls so far: shift, range, p; `None` if there are too few calls to test."""

    def __str__(self) -> str:
        return f"{self.operation_name}: {self.verdict}: {self.reason}"


class PerformanceRegressionDetector:
    """Compares the times of operations with a baseline that `PerformanceProfiler.save_metrics` wrote.

    With five calls or more on each side, all calls so far are tested as `stepscope check` tests steps. With fewer, the
    call alone is compared, and the result says "not tested". A regression calls `alert_regression`, which prints a
    line; override it for your CI. `results` holds every verdict. An operation without a baseline gets the verdict
    `no baseline`; call `save_baseline()` to make this run the baseline.

    Args:
        baseline_metrics_path: File of the baseline; it need not exist yet.
    """

    def __init__(self, baseline_metrics_path: str | os.PathLike[str]) -> None:
        self.path = baseline_metrics_path
        self.profiler = PerformanceProfiler()
        self._baseline_runs: dict[str, list[list[float]]] = {}
        self.baseline = self.load_baseline(baseline_metrics_path)
        self.results: list[RegressionResult] = []

    def load_baseline(self, path: str | os.PathLike[str]) -> dict[str, Row]:
        """Reads the metrics of a baseline by operation; empty if the file does not exist yet.

        Args:
            path: File that `save_metrics` or `save_baseline` wrote.
        """
        try:
            rows, self._baseline_runs = read_rows(path), read_runs(path)
            return rows
        except NotFoundError:
            say(f"no baseline found; call save_baseline() to make this run the baseline: {os.fspath(path)}")
            return {}

    def save_baseline(self, path: str | os.PathLike[str] | None = None, *, append: bool = False) -> None:
        """Writes the metrics and the time of every call of this run as the baseline of later runs.

        Args:
            path: File to write; by default the one that the baseline was read from, which is overwritten.
            append: Whether to add the calls to those of the runs in the file. Three runs or more show how much runs
                differ.
        """
        target = self.path if path is None else path
        if not append or not os.path.exists(target):
            self.profiler.save_metrics(target)
            return
        runs = read_runs(target)
        for name, times_s in self.profiler._call_times_s.items():
            runs[name] = [*runs.get(name, []), times_s]
        write_rows(target, read_rows(target) | self.profiler._rows(), runs)

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
        self.profiler._call_times_s.setdefault(operation_name, []).append(current_s)
        before = self._last(operation_name)
        result = self._judge(operation_name, current_s, threshold)
        self.results.append(result)
        if result.gate is not None:
            if before is None or before.gate is None or before.verdict != result.verdict:
                self._report_change(result, result.gate)
        elif result.verdict == REGRESSION and result.baseline_time_s is not None:
            self.alert_regression(operation_name, result.baseline_time_s, current_s)
        elif result.verdict not in _GOOD and not self._was_said(result):
            say(str(result))

    def alert_regression(self, operation_name: str, baseline_time: float, current_time: float) -> None:
        """Prints a regression on standard error. Override it to fail a test or to send a message.

        Args:
            operation_name: Name of the region.
            baseline_time: Seconds in the baseline; the median of its calls if tested.
            current_time: Seconds of this call; the median of all calls so far if tested.
        """
        say(
            f"regression: {operation_name} took {current_time:.4g} s, "
            f"{current_time / baseline_time - 1:+.0%} compared with the baseline of {baseline_time:.4g} s"
        )

    def has_regression(self) -> bool:
        """Returns whether any operation is a regression: by its last test, or without a test by any of its calls."""
        operations = {result.operation_name for result in self.results}
        return any(REGRESSION in self._standing(name) for name in operations)

    def _standing(self, name: str) -> list[str]:
        """Returns the verdicts that count: the last one that was tested, else all."""
        results = [result for result in self.results if result.operation_name == name]
        tested = [result.verdict for result in results if result.gate is not None]
        return tested[-1:] or [result.verdict for result in results]

    def _last(self, name: str) -> RegressionResult | None:
        return next((result for result in reversed(self.results) if result.operation_name == name), None)

    def _report_change(self, result: RegressionResult, gate: GateVerdict) -> None:
        """Alerts or prints a verdict of the test that is new."""
        if result.verdict == REGRESSION and gate.baseline_median and gate.candidate_median is not None:
            self.alert_regression(result.operation_name, gate.baseline_median, gate.candidate_median)
        elif result.verdict not in _GOOD:
            say(str(result))

    def _was_said(self, result: RegressionResult) -> bool:
        """Returns whether a result was already printed, or the missing baseline was."""
        return not os.path.exists(self.path) or any(str(result) == str(before) for before in self.results[:-1])

    def _judge(self, name: str, current_s: float, threshold: float) -> RegressionResult:
        row = self.baseline.get(name)
        base_s = None if row is None else row["wall_time_s"]
        if row is None or base_s is None:
            reason = "the baseline does not have it; call save_baseline() to make this run the baseline"
            return RegressionResult(name, NO_BASELINE, current_s, None, threshold, reason)
        runs = [run for run in self._baseline_runs.get(name, []) if run]
        times_s = self.profiler._call_times_s[name]
        if min(sum(map(len, runs)), len(times_s)) >= VALUES_LEAST:
            return _tested(name, runs, times_s, threshold)
        change = f"{current_s:.4g} s, baseline {base_s:.4g} s"
        limit_s = base_s * (1 + threshold)
        slow_s, slowest_s = row.get("p95_s"), row.get("max_s")
        if current_s <= limit_s:
            verdict, reason = OK, f"{change}, limit {limit_s:.4g} s"
        elif slow_s is None or slowest_s is None or (row.get("calls") or 0) < 2:
            verdict, reason = REGRESSION, f"{change}; the baseline is one call, so its noise is not known"
        elif slow_s > limit_s and current_s <= slowest_s * (1 + threshold):
            verdict = INCONCLUSIVE
            reason = f"{change}, but the baseline itself took up to {slowest_s:.4g} s; measure it again with less noise"
        else:
            verdict, reason = REGRESSION, f"{change}; the baseline took {slow_s:.4g} s at its 95th percentile"
        counts = f"found {sum(map(len, runs))} calls in the baseline and {len(times_s)} in this run"
        reason += f"; not tested: {counts}, expected {VALUES_LEAST} of each"
        return RegressionResult(name, verdict, current_s, base_s, threshold, reason)


def _tested(name: str, runs: list[list[float]], times_s: list[float], threshold: float) -> RegressionResult:
    """Judges all calls so far as `stepscope check` judges steps."""
    exclude_ratio = max(_EXCLUDE_LEAST, threshold)
    gate = judge(name, runs, [times_s], report_ratio=threshold, exclude_ratio=exclude_ratio, single_run=True)
    facts = [f"median {gate.candidate_median:.4g} s, baseline {gate.baseline_median:.4g} s", gate.figures()]
    facts += [gate.reason] if gate.reason else []
    facts += [f"baseline of {_FEW_RUNS[len(runs)]}"] if len(runs) in _FEW_RUNS else []
    return RegressionResult(name, gate.verdict, times_s[-1], gate.baseline_median, threshold, "; ".join(facts), gate)
