"""Notices when a recording without steps may have reached its budget.

A script without steps never reaches a point where its recording can be measured, and the profiler does not report how
much it holds. The age of the recording and the growth of the process give an upper bound.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable

LOOK_EVERY_S = 0.25

# A program that does nothing but small operators fills a trace at about this rate.
BUSY_BYTES_PER_S = 1e8
# The events of a trace take less room in memory than as JSON, but not less than this part of it.
JSON_BYTES_PER_BYTE_OF_MEMORY = 3

_pending_call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Watch:
    """Calls `end` in the main thread, between two of its instructions, when a limit may be reached: a size or a time.

    `end` returns whether it could end the recording; if not, it is called again a little later.
    """

    def __init__(
        self,
        max_bytes: int,
        end: Callable[[], bool],
        *,
        max_s: float | None = None,
        trace_bytes_per_byte_of_memory: float = JSON_BYTES_PER_BYTE_OF_MEMORY,
    ) -> None:
        self._max_bytes = max_bytes
        self._max_s = max_s
        self._trace_bytes_per_byte_of_memory = trace_bytes_per_byte_of_memory
        self._end = end
        self._started_s = time.monotonic()
        self._memory_at_start = _memory_bytes()
        self._is_over = threading.Event()
        self._is_asked = False
        self._call = _pending_call(self._ask)  # The interpreter keeps no reference to it.
        threading.Thread(target=self._look, name="stepscope-watch", daemon=True).start()

    def stop(self) -> None:
        """Ends the watch."""
        self._is_over.set()

    def age_s(self) -> float:
        """Returns how long the recording has run."""
        return time.monotonic() - self._started_s

    def _look(self) -> None:
        while not self._is_over.wait(LOOK_EVERY_S):
            if not self._is_asked and self._could_be_full():
                # Fails if too much else is pending; there will be another look.
                self._is_asked = ctypes.pythonapi.Py_AddPendingCall(self._call, None) == 0

    def _ask(self, _: object) -> int:
        if not self._is_over.is_set() and self._end():
            self._is_over.set()
        self._is_asked = False
        return 0

    def _could_be_full(self) -> bool:
        if self._max_s is not None and self.age_s() >= self._max_s:
            return True
        if self.age_s() * BUSY_BYTES_PER_S < self._max_bytes:
            return False
        now = _memory_bytes()
        if now is None or self._memory_at_start is None:
            return True
        return (now - self._memory_at_start) * self._trace_bytes_per_byte_of_memory >= self._max_bytes


def _memory_bytes() -> int | None:
    """Returns the resident memory of the process; None where the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as numbers:
            return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
