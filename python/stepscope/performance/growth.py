"""Separates steady growth from warm-up, caches that fill up, and noise."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["LEAST_POINTS", "steady_growth"]

LEAST_POINTS = 7

# A leak grows at most points; garbage and fragmentation go up and down.
_LEAST_RISING = 0.7
_MOST_GIVEN_BACK = 0.2


def steady_growth(steps: Sequence[int], values: Sequence[float], least: float, steadiness: float = 0.8) -> float | None:
    """Returns the growth per step if it is steady and at least `least` in all; else `None`.

    A cache that fills up grows ever slower: the second half must grow by at least `steadiness` times the first one.

    >>> steady_growth(range(7), [0, 10, 20, 30, 40, 50, 60], least=50)
    10.0
    >>> steady_growth(range(7), [0, 40, 55, 60, 60, 60, 60], least=50)
    """
    if len(values) < LEAST_POINTS or values[-1] - values[0] < least:
        return None
    changes = [after - before for before, after in zip(values, values[1:])]
    grown = values[-1] - values[0]
    if sum(change > 0 for change in changes) < _LEAST_RISING * len(changes):
        return None
    if -sum(change for change in changes if change < 0) > _MOST_GIVEN_BACK * grown:
        return None
    middle = len(values) // 2
    first = (values[middle] - values[0]) / (steps[middle] - steps[0])
    second = (values[-1] - values[middle]) / (steps[-1] - steps[middle])
    if second < steadiness * first:
        return None
    return grown / (steps[-1] - steps[0])
