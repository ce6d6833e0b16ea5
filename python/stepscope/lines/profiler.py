"""Records lines between start and stop."""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import TracebackType

from stepscope.saying import say

from . import recording
from .files import Files
from .memory import NO_RESIDENT_MEMORY
from .result import LineProfile, profile_of

__all__ = ["LineProfiler", "profile"]

_NOT_MEASURED = "memory was not measured; pass memory=True, or run stepscope lines --memory"


class LineProfiler:
    """Measures hits and time of lines between `start()` and `stop()`, or inside `with`.

    It can be started again, and adds up what it measures. Calls of `start()` may nest: the last `stop()` ends the
    recording. Several profilers may run at once.

    Args:
        files: What to record: a path, a folder or a glob, or several of them. By default, every file outside the
            standard library and the installed packages.
        memory: Also measure memory growth per line, which makes each line many times slower.

    >>> profiler = LineProfiler()
    >>> profiler.start()
    >>> number = sum(range(10))
    >>> profiler.stop()
    >>> [row.code for row in profiler.result()]
    ['number = sum(range(10))']
    """

    def __init__(
        self,
        files: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] | None = None,
        *,
        memory: bool = False,
    ) -> None:
        self._wish = recording.Wish(Files(files), memory)
        self._counted = recording.Counts()
        self._starts = 0
        self._missing = dict.fromkeys(("memory_growth_bytes", "python_growth_bytes"), _NOT_MEASURED)
        self._notes: list[str] = []

    def start(self) -> None:
        """Starts recording."""
        self._starts += 1
        if self._starts == 1:
            self._counted.add(recording.begin(self._wish), -1)
            if self._wish.has_memory:
                self._missing = {} if recording.has_resident_memory() else {"memory_growth_bytes": NO_RESIDENT_MEMORY}

    def stop(self) -> None:
        """Ends the recording that the first `start()` began; does nothing without one."""
        if self._starts == 1:
            counted, problem = recording.end(self._wish)
            self._counted.add(counted)
            if problem:
                self._notes.append(problem)
                say(problem)
        self._starts = max(self._starts - 1, 0)

    def result(self) -> LineProfile:
        """Returns what was recorded; up to now, if the recording has not stopped."""
        counted = recording.Counts()
        counted.add(self._counted)
        if self._starts:
            counted.add(recording.counts(self._wish, is_end=True))
        return profile_of(counted, self._missing, self._notes)

    def __enter__(self) -> LineProfiler:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def profile(
    files: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] | None = None, *, memory: bool = False
) -> LineProfiler:
    """Returns a `LineProfiler` for a `with` statement.

    Args:
        files: What to record: a path, a folder or a glob, or several of them. By default, every file outside the
            standard library and the installed packages.
        memory: Also measure memory growth per line, which makes each line many times slower.

    >>> with profile() as profiler:
    ...     words = "a line is a line".split()
    >>> print(profiler.result().rows[0].hits)
    1
    """
    return LineProfiler(files, memory=memory)
