"""Compares two runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from stepscope.opening import open as open_run
from stepscope.report import Report
from stepscope.run import Run

if TYPE_CHECKING:
    from stepscope.part import Steps

__all__ = ["diff"]

_Path = str | os.PathLike[str]


def diff(
    a: Run | _Path | Iterable[_Path],
    b: Run | _Path | Iterable[_Path],
    *,
    rank: int | None = None,
    window: int | None = None,
    step: Steps | None = None,
) -> Report:
    """Compares two runs: what got faster or slower per step, by how much, and whether noise explains it.

    Args:
        a: The earlier run: a `Run`, or what `stepscope.open` takes.
        b: The later run, in the same form.
        rank: Rank to compare; the first by default.
        window: Window to compare; the first by default.
        step: Steps to compare; the last 32 complete steps by default.

    Returns:
        The report that `stepscope diff` prints. Its rows are times on the critical path, and add up to the difference.

    Raises:
        NotFoundError: A path does not exist.
        UsageError: A run does not have the rank, window or step.

    >>> stepscope.diff("before.json.gz", "after.json.gz")   # doctest: +SKIP
    """
    return _opened(a).diff(_opened(b), rank=rank, window=window, step=step)


def _opened(run: Run | _Path | Iterable[_Path]) -> Run:
    return run if isinstance(run, Run) else open_run(run)
