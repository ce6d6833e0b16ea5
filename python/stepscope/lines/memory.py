"""Reads how much memory the process and Python's objects take."""

from __future__ import annotations

import os
import tracemalloc

#: Why the memory of the process is not known.
NO_RESIDENT_MEMORY = "this system has no /proc/self/statm"


class MemoryReader:
    """Returns the resident bytes of the process and the bytes of Python's objects (`tracemalloc`) at each call."""

    def __init__(self) -> None:
        self._starts_tracing = not tracemalloc.is_tracing()
        if self._starts_tracing:
            tracemalloc.start()
        try:
            self._file: int | None = os.open("/proc/self/statm", os.O_RDONLY)
            self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        except OSError:
            self._file = None

    @property
    def has_resident_memory(self) -> bool:
        """Returns whether the memory of the process can be read here; if not, it is always 0."""
        return self._file is not None

    def __call__(self) -> tuple[int, int]:
        python_bytes = tracemalloc.get_traced_memory()[0]
        if self._file is None:
            return 0, python_bytes
        # Size, resident, shared…, in pages.
        return int(os.pread(self._file, 64, 0).split()[1]) * self._page_bytes, python_bytes

    def close(self) -> None:
        """Leaves `tracemalloc` as it was."""
        if self._starts_tracing:
            tracemalloc.stop()
        if self._file is not None:
            os.close(self._file)
