"""Regions that also count FLOPs, time lines or trace Python's memory."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .decorating import inside
from .figure import Unmeasured, unmeasured
from .leaks import Leak, LeakWatch
from .metrics import MB

if TYPE_CHECKING:
    from stepscope import _native

    from .flops import Tally

__all__ = ["Measured", "WatchedRegion", "Watchers"]


@dataclass(frozen=True)
class Measured:
    """Measurements of the call of a region that closed last."""

    flops: int | Unmeasured
    parameters: int | Unmeasured
    calls_without_flops: int | Unmeasured
    python_peak_mb: float


@dataclass(eq=False)
class _Call:
    """One open call of a region."""

    region: WatchedRegion
    tally: Tally | None = None
    python_peak_bytes: int | None = None
    has_marked_steps: bool = False


#: The calls that are open here, outermost first; every thread and every task of asyncio has its own.
_open_calls: ContextVar[tuple[_Call, ...]] = ContextVar("stepscope_open_calls", default=())


class Watchers:
    """Runs the enabled measurements while a region is open."""

    def __init__(self, *, estimate_flops: bool, line_profiling: bool, detailed_memory: bool) -> None:
        self._lock = threading.Lock()
        self._open: list[_Call] = []
        self._measured: dict[str, Measured] = {}
        self.leaks = LeakWatch() if detailed_memory else None
        self._flops: Any = None
        self.lines: Any = None
        if estimate_flops:
            from .flops import FlopsCounter

            self._flops = FlopsCounter(self._open_tallies)
        if line_profiling:
            from stepscope.lines import LineProfiler

            self.lines = LineProfiler()

    def close(self) -> None:
        """Ends the measurements that run outside regions."""
        if self.leaks is not None:
            self.leaks.close()

    def measured(self, name: str) -> Measured | None:
        """Returns the measurements of the call of a region that closed last."""
        return self._measured.get(name)

    def leaks_of(self, name: str | None) -> tuple[Leak, ...] | None:
        """Returns what grows with the steps of a region; `None` if leak detection is off."""
        return None if self.leaks is None else self.leaks.leaks(name)

    def mark_step(self, fallback: str = "steps") -> None:
        """Notes that a step of the innermost open region has ended."""
        calls = self._own_calls()
        if calls:
            calls[-1].has_marked_steps = True
        if self.leaks is not None:
            self.leaks.note_step(calls[-1].region.name if calls else fallback)

    def has_open_region(self) -> bool:
        """Returns whether a region is open here."""
        return bool(self._own_calls())

    def begin(self, region: WatchedRegion) -> None:
        """Starts the measurements of a region."""
        call = _Call(region)
        _open_calls.set((*_open_calls.get(), call))
        with self._lock:
            self._note_python_peak()
            self._open.append(call)
            if self.lines is not None and len(self._open) == 1:
                self.lines.start()
        if self._flops is not None:
            from .flops import Tally

            call.tally = Tally()
            self._flops.start(call.tally)

    def end(self, region: WatchedRegion) -> None:
        """Ends the measurements of the call of a region that was opened last."""
        calls = _open_calls.get()
        # One that was opened in another thread or task is closed there.
        call = next((call for call in reversed((*self._open, *calls)) if call.region is region), None)
        if call is None:  # It was never entered; the native region passes over that too.
            return
        _open_calls.set(tuple(other for other in calls if other is not call))
        if call.tally is not None:
            self._flops.stop(call.tally)
        with self._lock:
            self._note_python_peak()
            self._open.remove(call)
            if self.lines is not None and not self._open:
                self.lines.stop()
            self._measured[region.name] = self._result(call)
        if self.leaks is not None and not call.has_marked_steps:
            self.leaks.note_step(region.name)

    def _result(self, call: _Call) -> Measured:
        off = unmeasured("estimate_flops is off")
        peak_bytes = call.python_peak_bytes
        if peak_bytes is None:
            reason = "detailed_memory is off" if self.leaks is None else "Python's memory was not traced any more"
            peak_mb: float = unmeasured(reason)
        else:
            peak_mb = peak_bytes / MB
        tally = call.tally
        if tally is None:
            return Measured(off, off, off, peak_mb)
        return Measured(tally.flops, tally.parameters(), tally.calls_without_flops, peak_mb)

    def _note_python_peak(self) -> None:
        """Adds the peak since the last call of this to every open region, and starts a new one."""
        if self.leaks is not None and tracemalloc.is_tracing():
            peak_bytes = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
            for call in self._open:
                call.python_peak_bytes = max(call.python_peak_bytes or 0, peak_bytes)

    def _own_calls(self) -> list[_Call]:
        return [call for call in _open_calls.get() if call.region.watchers is self]

    def _open_tallies(self) -> list[Tally]:
        return [call.tally for call in self._own_calls() if call.tally is not None]


class WatchedRegion:
    """A region with additional measurements. Like any region, it can be reused, nested, and used as a decorator."""

    def __init__(self, region: _native.Region, watchers: Watchers) -> None:
        self.name = region.name
        self.watchers = watchers
        self._region = region

    def __enter__(self) -> WatchedRegion:
        self.watchers.begin(self)
        self._region.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        self._region.__exit__(*problem)
        self.watchers.end(self)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return inside(self, function)
