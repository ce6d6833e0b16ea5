"""Compares the values of a block with saved runs, by the gate of the engine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

__all__ = ["IMPROVEMENT", "INCONCLUSIVE", "PASS", "REGRESSION", "Verdict", "judge", "milliseconds", "percent"]

REGRESSION = "regression"
IMPROVEMENT = "improvement"
PASS = "pass"
INCONCLUSIVE = "inconclusive"

#: Smallest slowdown that is reported, unless the marker changes it.
REPORT_RATIO = 0.02
#: Slowdown that a pass excludes, or what the marker allows if that is more.
EXCLUDE_RATIO = 0.05
ALPHA = 0.02
LEAST_RUNS = 3

_COUNTS = ("no run", "one run", "two runs")


@dataclass(frozen=True)
class Verdict:
    """Holds the verdict on a block and what it rests on."""

    word: str
    """`pass`, `improvement`, `regression` or `inconclusive`."""
    reason: str | None
    """Reason of an inconclusive verdict."""
    median_s: float | None
    """Median of this session."""
    baseline_median_s: float | None
    """Median of all values of the saved runs."""
    baseline_runs: int
    """Number of saved runs that have the block."""
    shift: float | None
    """Typical change, as a share of the median of the saved runs."""
    low: float | None
    """Lower end of the 98 % range of the change."""
    high: float | None
    """Upper end of it."""
    p: float | None
    """Probability of such a difference between equal series."""
    limit: float
    """Smallest slowdown that is a regression, as a share."""

    def __str__(self) -> str:
        lines = []
        if self.median_s is not None and self.baseline_median_s is not None:
            runs = f"{self.baseline_runs} saved run{'' if self.baseline_runs == 1 else 's'}"
            now, before = milliseconds(self.median_s), milliseconds(self.baseline_median_s)
            lines.append(f"{now} ms per round, {before} ms in {runs}")
        if self.shift is not None:
            figures = [f"change {percent(self.shift)}"]
            if self.low is not None and self.high is not None:
                figures.append(f"98 % range {percent(self.low)} to {percent(self.high)}")
            if self.p is not None:
                figures.append(f"p = {self.p:.2g}")
            lines.append(f"{', '.join(figures)}; reported from {percent(self.limit)} on")
        return "\n".join([*([self.reason] if self.reason else []), *lines])


def judge(
    name: str, baseline: Sequence[Sequence[float]], values: Sequence[float], max_regression: float | None = None
) -> Verdict:
    """Compares the values of a block with those of saved runs.

    Args:
        name: Name of the block.
        baseline: Values of the saved runs, one list per run.
        values: Values of this session.
        max_regression: Smallest slowdown that is a regression, as a share; 0.02 by default.
    """
    from stepscope import _native

    report_ratio = REPORT_RATIO if max_regression is None else max_regression
    found: dict[str, Any] = json.loads(
        _native.judge_series(
            name,
            baseline,
            [values],
            is_higher_better=False,
            alpha=ALPHA,
            report_ratio=report_ratio,
            exclude_ratio=max(EXCLUDE_RATIO, report_ratio),
            single_run=False,
        )
    )
    word, reason = str(found["verdict"]), found["reason"]
    runs = len(baseline)
    if runs < LEAST_RUNS:
        word, reason = INCONCLUSIVE, f"{_COUNTS[runs]} saved, expected three or more"
    return Verdict(
        word=word,
        reason=None if word != INCONCLUSIVE else reason,
        median_s=median(values) if values else None,
        baseline_median_s=found["baseline_median"],
        baseline_runs=runs,
        shift=found["shift_ratio"],
        low=found["low_ratio"],
        high=found["high_ratio"],
        p=found["p"],
        limit=report_ratio,
    )


def milliseconds(value_s: float) -> str:
    """Writes a time in milliseconds, with four digits or more."""
    value_ms = 1000 * value_s
    return f"{value_ms:#.4g}" if abs(value_ms) < 1000 else f"{value_ms:,.0f}"


def percent(ratio: float) -> str:
    """Writes a change in percent, with its sign."""
    return f"{100 * ratio:+.1f} %"
