"""Records one round with torch's profiler."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["TorchTrace", "trace_name"]


class TorchTrace:
    """Holds the trace of one round until it is written or forgotten. Never fails: `problem` has the reason."""

    def __init__(self) -> None:
        self.problem: str | None = "the block failed, or did not loop over the rounds"
        self._profiler: Any = None

    def __enter__(self) -> TorchTrace:
        self.problem = "the traced round did not end"
        try:
            from torch.profiler import profile

            profiler = profile()
            profiler.start()
            self._profiler = profiler
        except ImportError:
            self.problem = "torch is not installed"
        except Exception as error:  # For example: another profiler records.
            self.problem = f"torch cannot record: {error}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._profiler is None:
            return
        try:
            self._profiler.stop()
            self.problem = None
        except Exception as stopped:
            self.problem = f"torch cannot record: {stopped}"

    def write(self, path: Path) -> str | None:
        """Writes the trace; returns the reason if there is none."""
        if self.problem is None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._profiler.export_chrome_trace(str(path))
            except Exception as error:
                self.problem = f"the trace cannot be written: {error}"
        return self.problem


def trace_name(test: str, name: str) -> str:
    """Returns the file name of the trace of a measured block, different for each of them."""
    both = f"{test}-{name}"
    plain = re.sub(r"[^\w.-]+", "-", both).strip("-.")
    return f"{plain[:120]}-{zlib.crc32(both.encode()):08x}.pt.trace.json.gz"
