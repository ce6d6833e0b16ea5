"""Holds the one recording of this process, shared by all started profilers: Python has one trace function."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from inspect import CO_OPTIMIZED
from types import CodeType
from typing import NamedTuple

from stepscope._native import LineRecorder

from .files import Files, has_lines_of_its_own
from .hooks import Hook
from .memory import MemoryReader


class Place(NamedTuple):
    """A line of a function; modules and the bodies of classes count as functions."""

    file: str
    first_line: int
    function: str
    is_function: bool
    line: int


class Figures(NamedTuple):
    """Counts of a line."""

    hits: int = 0
    time_ns: int = 0
    memory_growth_bytes: int = 0
    python_growth_bytes: int = 0

    def combined(self, other: Figures, sign: int = 1) -> Figures:
        """Returns the sum, or the difference."""
        return Figures(*(mine + sign * its for mine, its in zip(self, other, strict=True)))


@dataclass
class Counts:
    """All counts up to a moment."""

    figures: defaultdict[Place, Figures] = field(default_factory=lambda: defaultdict(Figures))
    total_ns: int = 0

    def add(self, other: Counts, sign: int = 1) -> None:
        """Adds, or subtracts."""
        for place, figures in other.figures.items():
            self.figures[place] = self.figures[place].combined(figures, sign)
        self.total_ns += sign * other.total_ns


class Wish:
    """What one profiler records, from `begin` to `end`."""

    def __init__(self, files: Files, has_memory: bool) -> None:
        self.files = files
        self.has_memory = has_memory


_lock = threading.RLock()
_wishes: list[Wish] = []
_recorder: LineRecorder | None = None
_hook: Hook | None = None
_memory: MemoryReader | None = None


def begin(wish: Wish) -> Counts:
    """Starts recording what a profiler wants; returns the counts before."""
    global _hook, _memory, _recorder
    with _lock:
        if wish.has_memory and _memory is None:
            _memory = MemoryReader()
        _wishes.append(wish)
        if _recorder is None or _hook is None:
            _recorder = LineRecorder(_is_wished, _measure)
            _recorder.set_memory(_memory is not None)
            _hook = Hook(_recorder)
            return Counts()
        _recorder.set_memory(_memory is not None)
        _recorder.reconsider()
        _hook.refresh()
        return counts(wish, is_end=False)


def end(wish: Wish) -> tuple[Counts, str | None]:
    """Returns the counts until now, and what went wrong; stops recording if no other profiler needs it."""
    global _hook, _memory, _recorder
    with _lock:
        counted = counts(wish, is_end=True)
        _wishes.remove(wish)
        problem = None
        if not _wishes and _hook:
            problem = _hook.remove()
            _hook = _recorder = None
        if _memory and not any(other.has_memory for other in _wishes):
            if _recorder:
                _recorder.set_memory(False)
            _memory.close()
            _memory = None
        return counted, problem


def counts(wish: Wish, *, is_end: bool) -> Counts:
    """Returns the counts of a profiler's files; at an end, without the line that ends it."""
    result = Counts()
    if _recorder is not None:
        rows, result.total_ns = _recorder.snapshot(is_end)
        for code, line, *figures in rows:
            if wish.files.holds(code.co_filename):
                place = _place(code, line)
                result.figures[place] = result.figures[place].combined(Figures(*figures))
    return result


def has_resident_memory() -> bool:
    """Returns whether the memory of the process is measured."""
    return _memory is not None and _memory.has_resident_memory


def _is_wished(code: CodeType) -> bool:
    return has_lines_of_its_own(code) and any(wish.files.holds(code.co_filename) for wish in _wishes)


def _measure() -> tuple[int, int]:
    return _memory() if _memory else (0, 0)


def _place(code: CodeType, line: int) -> Place:
    # Python 3.10 knows no qualified names.
    name: str = getattr(code, "co_qualname", code.co_name)
    return Place(code.co_filename, code.co_firstlineno, name, bool(code.co_flags & CO_OPTIMIZED), line)
