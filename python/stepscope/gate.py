"""Decides whether values got worse by more than noise: the test that `stepscope check` uses on traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from stepscope._native import judge_series
from stepscope.errors import UsageError

__all__ = ["VALUES_LEAST", "GateVerdict", "judge"]

#: Values that each side needs.
VALUES_LEAST = 5


@dataclass(frozen=True)
class GateVerdict:
    """Holds the verdict on a series of values against a baseline."""

    verdict: str
    """`regression`, `improvement`, `pass` or `inconclusive`."""
    exit_code: int
    """Exit code of `stepscope check`: 0 nothing got worse, 1 regression, 4 inconclusive."""
    baseline_median: float | None
    """Median of the baseline."""
    candidate_median: float | None
    """Median of the values that are judged."""
    baseline_values: int
    """Number of values in the baseline."""
    candidate_values: int
    """Number of values that are judged."""
    shift_ratio: float | None
    """Median shift relative to the baseline: 0.08 is 8 % more."""
    low_ratio: float | None
    """Low end of the 98 % range of the shift."""
    high_ratio: float | None
    """High end of the 98 % range of the shift."""
    p: float | None
    """Probability of such a difference if nothing changed."""
    inflation: float | None
    """Variance inflation by autocorrelation; 1 if the values are independent."""
    between_runs_ratio: float | None
    """Change that runs of the same code rarely exceed; `None` with fewer than three baseline runs."""
    values_needed: int | None
    """Number of values that would decide, if the verdict is `inconclusive`."""
    reason: str | None
    """Reason for `inconclusive`."""

    def figures(self) -> str:
        """Returns the shift with its range, p and the number of values, for people."""
        facts = []
        if self.shift_ratio is not None:
            has_range = self.low_ratio is not None and self.high_ratio is not None
            bounds = f" ({_percent(self.low_ratio)} to {_percent(self.high_ratio)})" if has_range else ""
            facts.append(f"shift {_percent(self.shift_ratio)}{bounds}")
        if self.p is not None:
            facts.append("p < 0.001" if self.p < 0.001 else f"p = {self.p:.2g}")
        return ", ".join([*facts, f"{self.candidate_values:,} values, baseline {self.baseline_values:,}"])

    def __str__(self) -> str:
        return f"{self.verdict}: {self.figures()}" + (f"; {self.reason}" if self.reason else "")


def judge(
    name: str,
    baseline: Sequence[Sequence[float]],
    candidates: Sequence[Sequence[float]],
    *,
    is_higher_better: bool = False,
    alpha: float = 0.02,
    report_ratio: float = 0.02,
    exclude_ratio: float = 0.05,
    single_run: bool = False,
) -> GateVerdict:
    """Compares values of runs with those of baseline runs.

    Args:
        name: Name of the metric.
        baseline: Values of each baseline run, in the order that they were measured.
        candidates: Values of each run that is judged.
        is_higher_better: Whether the metric should rise, such as a throughput.
        alpha: Largest `p` that counts as a change.
        report_ratio: Smallest change that counts: 0.02 is 2 %.
        exclude_ratio: Change that a `pass` excludes.
        single_run: Whether a baseline of one or two runs decides the exit code.

    Raises:
        UsageError: A side has no values, or a value is not a finite number.
    """
    for side, runs in (("baseline", baseline), ("candidates", candidates)):
        values = [value for run in runs for value in run]
        wrong = next((value for value in values if not isfinite(value)), None)
        if wrong is not None:
            raise UsageError(f"{side}: expected finite numbers, found: {wrong}")
        if not values:
            raise UsageError(f"{side}: found no values of {name}, expected {VALUES_LEAST} or more")
    text = judge_series(
        name,
        baseline,
        candidates,
        is_higher_better=is_higher_better,
        alpha=alpha,
        report_ratio=report_ratio,
        exclude_ratio=exclude_ratio,
        single_run=single_run,
    )
    return GateVerdict(**json.loads(text))


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{round(100 * ratio, 1) + 0:+.1f} %"
