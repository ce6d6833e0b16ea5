"""Finds memory that grows from step to step, and the lines that allocated it.

Python's allocations are known with their stacks (`tracemalloc`). Other memory, such as that of tensors, shows only in
the memory of the process; lines that keep ever more objects alive are its suspects.
"""

from __future__ import annotations

import gc
import os
import sys
import sysconfig
import threading
import time
import tracemalloc
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from stepscope import _native

from .growth import LEAST_POINTS, steady_growth
from .metrics import MB

__all__ = ["Leak", "LeakWatch"]

# Each frame more makes every allocation slower.
_STACK_DEPTH = 5
_MOST_POINTS = 24
# Of each look, the stacks that hold most and those with most blocks are kept.
_MOST_STACKS = 3000
_MOST_SUSPECTS = 5

_LEAST_PYTHON_BYTES = 100_000
_LEAST_NATIVE_BYTES = 4_000_000
_LEAST_NATIVE_SHARE = 0.005
# The memory of a process is noisier than what Python counts.
_NATIVE_STEADINESS = 0.5
# A look copies what is traced and leaves gaps in the memory of the process.
_GAPS_OF_TRACING = 4

# The first looks at a region may take so long in all, so that a leak is found soon; later ones this share of the time.
_EARLY_LOOKS = 12
_MOST_EARLY_SECONDS = 10.0
_MOST_SHARE_OF_TIME = 0.05

_OURS = (os.path.dirname(__file__) + os.sep, tracemalloc.__file__)
_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep

Stack = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Leak:
    """Memory that grows from step to step."""

    region: str
    """The region whose steps it grows with."""
    kind: str
    """`python` if Python allocated it, `native` if only the memory of the process shows it."""
    bytes_per_step: float
    """Growth per step."""
    growth_mb: float
    """Growth over all measured steps."""
    steps: int
    """Number of measured steps."""
    stack: Stack
    """File and line of the calls that allocated it, innermost first; of the first suspect if it is `native`."""
    suspects: tuple[str, ...] = ()
    """For `native` memory: lines that keep more objects alive with each step."""

    @property
    def where(self) -> str:
        """File and line: the innermost that is not in a library."""
        return _where(self.stack) if self.stack else "unknown"

    def summary(self) -> str:
        """Returns the leak in one line."""
        amount = f"{self.bytes_per_step / MB:,.3f} MB per step, {self.growth_mb:,.1f} MB in {self.steps} steps"
        if self.kind == "python":
            return f"{self.where} keeps {amount}"
        suspects = f"; ever more objects are alive from: {', '.join(self.suspects)}" if self.suspects else ""
        return f"memory outside Python grows by {amount}{suspects}"

    def to_dict(self) -> dict[str, Any]:
        """Returns all values, ready for JSON."""
        return {
            "region": self.region,
            "kind": self.kind,
            "where": self.where,
            "bytes_per_step": self.bytes_per_step,
            "growth_mb": self.growth_mb,
            "steps": self.steps,
            "stack": [f"{file}:{line}" for file, line in self.stack],
            "suspects": list(self.suspects),
        }


@dataclass
class _Look:
    """Memory that was alive after one step."""

    step: int
    rss_bytes: float
    traced_bytes: int
    tracing_bytes: int
    """Memory of the tracing itself."""
    stacks: dict[Stack, tuple[int, int]]
    """Bytes and blocks of each stack."""

    @property
    def native_bytes(self) -> float:
        """Returns the memory of the process that Python did not allocate."""
        return self.rss_bytes - self.traced_bytes - self.tracing_bytes


@dataclass
class _Steps:
    """The measured steps of one region: every step at first, then ever fewer, so that they stay few."""

    count: int = 0
    stride: int = 1
    looks: list[_Look] = field(default_factory=list)

    def add(self, look: _Look) -> None:
        self.looks.append(look)
        if len(self.looks) > _MOST_POINTS:
            self.stride *= 2
            self.looks = [look for look in self.looks if look.step % self.stride == 0]


class _Tracing:
    """Traces Python's allocations, once per process, for all profilers that need it."""

    def __init__(self) -> None:
        # A forgotten profiler is closed whenever the collector runs, also while another one begins.
        self._lock = threading.RLock()
        self._users = 0
        self._is_ours = False

    def begin(self) -> None:
        with self._lock:
            self._users += 1
            if not tracemalloc.is_tracing():
                self._is_ours = True
                _import_early()
                tracemalloc.start(_STACK_DEPTH)

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._is_ours:
                self._is_ours = False
                tracemalloc.stop()


_tracing = _Tracing()


class LeakWatch:
    """Measures what is alive after the steps of each region."""

    def __init__(self) -> None:
        _tracing.begin()
        self._is_closed = False
        self._lock = threading.Lock()
        self._regions: dict[str, _Steps] = {}
        self._begun_s = time.perf_counter()
        self._early_s = 0.0
        self._later_s = 0.0

    def close(self) -> None:
        """Ends the tracing of Python's allocations, if no other profiler needs it."""
        if not self._is_closed:
            self._is_closed = True
            _tracing.end()

    def note_step(self, region: str) -> None:
        """Notes that a step of a region has ended."""
        with self._lock:
            steps = self._regions.setdefault(region, _Steps())
            steps.count += 1
            if steps.count % steps.stride or not tracemalloc.is_tracing():
                return
            begun_s = time.perf_counter()
            if len(steps.looks) < _EARLY_LOOKS and self._early_s < _MOST_EARLY_SECONDS:
                steps.add(_look(steps.count))
                self._early_s += time.perf_counter() - begun_s
            elif self._later_s <= _MOST_SHARE_OF_TIME * (begun_s - self._begun_s):
                steps.add(_look(steps.count))
                self._later_s += time.perf_counter() - begun_s

    def leaks(self, region: str | None = None) -> tuple[Leak, ...]:
        """Returns what grows in one region, or in any of them, largest first; each line once."""
        with self._lock:
            names = list(self._regions) if region is None else [region]
            found = [leak for name in names if name in self._regions for leak in _leaks(name, self._regions[name])]
        found.sort(key=lambda leak: -leak.growth_mb)
        once: dict[tuple[str, Stack], Leak] = {}
        for leak in found:
            once.setdefault((leak.kind, leak.stack), leak)
        return tuple(once.values())


def _import_early() -> None:
    """Imports torch's compiler now: with the first optimizer, it would be very slow while allocations are traced."""
    if "torch" in sys.modules:
        with suppress(ImportError):
            import_module("torch._dynamo")


def _look(step: int) -> _Look:
    # Garbage that is not collected yet looks like a leak.
    gc.collect()
    traced_bytes, tracing_bytes = tracemalloc.get_traced_memory()[0], tracemalloc.get_tracemalloc_memory()
    rss = _native.system_now(["memory"]).get("process_rss_bytes")
    rss_bytes = rss if isinstance(rss, float) else float("nan")
    return _Look(step, rss_bytes, traced_bytes, tracing_bytes, _stacks())


def _stacks() -> dict[Stack, tuple[int, int]]:
    """Returns the bytes and blocks that are alive, by the stack that allocated them, innermost call first."""
    # Every object that is made here is traced too, which takes longer than all the rest. So none is made for a block:
    # its size is there already, and a sum is added up outside of Python.
    snapshot: Any = tracemalloc.take_snapshot()
    sizes_by_stack: dict[Stack, list[int]] = {}
    for trace in snapshot.traces._traces:
        stack = trace[2]
        sizes = sizes_by_stack.get(stack)
        if sizes is None:
            sizes = sizes_by_stack[stack] = []
        sizes.append(trace[1])
    alive = {
        stack: (sum(sizes), len(sizes))
        for stack, sizes in sizes_by_stack.items()
        if not stack[0][0].startswith(_OURS)
    }
    by_size = sorted(alive, key=lambda stack: alive[stack][0])[-_MOST_STACKS:]
    by_count = sorted(alive, key=lambda stack: alive[stack][1])[-_MOST_STACKS:]
    return {stack: alive[stack] for stack in {*by_size, *by_count}}


def _leaks(region: str, steps: _Steps) -> list[Leak]:
    # What the first step allocates is there to stay.
    looks = steps.looks[1:]
    if len(looks) < LEAST_POINTS:
        return []
    numbers = [look.step for look in looks]
    length = numbers[-1] - numbers[0]
    found = []
    for stack in looks[-1].stacks:
        sizes = [look.stacks.get(stack, (0, 0))[0] for look in looks]
        slope = steady_growth(numbers, sizes, _LEAST_PYTHON_BYTES)
        if slope is not None:
            found.append(Leak(region, "python", slope, slope * length / MB, length, stack))
    return [*found, *_native_leak(region, looks)]


def _native_leak(region: str, looks: list[_Look]) -> list[Leak]:
    # Warm-up takes longer here: pools of memory, threads, code that is loaded late.
    looks = looks[min(len(looks) // 3, len(looks) - LEAST_POINTS) :]
    numbers = [look.step for look in looks]
    length = numbers[-1] - numbers[0]
    gaps_bytes = _GAPS_OF_TRACING * (looks[-1].tracing_bytes - looks[0].tracing_bytes)
    least = max(_LEAST_NATIVE_BYTES, _LEAST_NATIVE_SHARE * looks[-1].rss_bytes, gaps_bytes)
    slope = steady_growth(numbers, [look.native_bytes for look in looks], least, _NATIVE_STEADINESS)
    if slope is None:
        return []
    suspects = _suspects(numbers, looks)
    lines = tuple(dict.fromkeys(map(_where, suspects)))
    stack = suspects[0] if suspects else ()
    return [Leak(region, "native", slope, slope * length / MB, length, stack, lines)]


def _suspects(numbers: list[int], looks: list[_Look]) -> list[Stack]:
    """Returns the stacks that keep one or more objects alive with each step, those with most of them first."""
    slopes: dict[Stack, float] = {}
    for stack in looks[-1].stacks:
        blocks = [look.stacks.get(stack, (0, 0))[1] for look in looks]
        slope = steady_growth(numbers, blocks, LEAST_POINTS - 1)
        if slope is not None:
            slopes[stack] = slope
    return sorted(slopes, key=lambda stack: -slopes[stack])[:_MOST_SUSPECTS]


def _where(stack: Stack) -> str:
    own = [place for place in stack if not _is_library(place[0])]
    file, line = (own or stack)[0]
    folder = os.getcwd() + os.sep
    return f"{file.removeprefix(folder)}:{line}"


def _is_library(file: str) -> bool:
    return "site-packages" in file or file.startswith((_STANDARD_LIBRARY, *_OURS, "<frozen"))
