"""Measures what a profiler costs: compares the times of recorded and unrecorded steps."""

from __future__ import annotations

import statistics
from collections import deque

__all__ = ["StepTimes"]

# Fewer steps than this say nothing of how much their time varies.
LEAST_STEPS_TO_JUDGE = 3


class StepTimes:
    """Remembers how long the last 100 steps of either kind took."""

    def __init__(self) -> None:
        self._unrecorded_s: deque[float] = deque(maxlen=100)
        self._recorded_s: deque[float] = deque(maxlen=100)

    def note(self, duration_s: float, *, is_recorded: bool) -> None:
        """Remembers how long a step took."""
        (self._recorded_s if is_recorded else self._unrecorded_s).append(duration_s)

    def overhead(self) -> float | None:
        """Returns the extra time of recorded steps, as a share of unrecorded ones; None if it is within their noise.

        >>> times = StepTimes()
        >>> for duration_s in (1.0, 1.1, 1.0):
        ...     times.note(duration_s, is_recorded=False)
        ...     times.note(1.5 * duration_s, is_recorded=True)
        >>> times.overhead()
        0.5
        """
        recorded, unrecorded = self._recorded_s, self._unrecorded_s
        if min(len(recorded), len(unrecorded)) < LEAST_STEPS_TO_JUDGE:
            return None
        # Every recorded step pays for recording, but slow ones are slow for other reasons too: fast ones are compared.
        fast_recorded_s, _, _ = statistics.quantiles(recorded, n=4)
        fast_s, _, slow_s = statistics.quantiles(unrecorded, n=4)
        is_noise = fast_recorded_s <= slow_s
        return None if is_noise else fast_recorded_s / max(fast_s, 1e-9) - 1

    def overhead_of(self, duration_s: float) -> float | None:
        """Returns the extra time of one recorded step, as a share of unrecorded ones; None if there were none."""
        if not self._unrecorded_s:
            return None
        return duration_s / max(statistics.median(self._unrecorded_s), 1e-9) - 1
