"""A log of bounded size with a JSON object for each request."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from stepscope.errors import UsageError
from stepscope.saying import say

__all__ = ["RequestLog"]


class RequestLog:
    """Lines in a file; when it is full it becomes `<name>.1`, in place of the one before, and a new one begins.

    A log that cannot be written is said once and then left alone: no request fails because of it.
    """

    def __init__(self, path: str | os.PathLike[str], limit_bytes: int) -> None:
        self.path = Path(path)
        self._most_bytes_a_file = max(limit_bytes // 2, 1)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: Any = self.path.open("ab", buffering=0)
        except OSError as error:
            hint = "name a file that this program may write"
            raise UsageError(f"the log cannot be written: {error.strerror}", str(path), hint) from error
        self._size_bytes = self.path.stat().st_size

    def write(self, entry: dict[str, Any]) -> None:
        """Adds a line."""
        line = json.dumps(entry, default=str).encode() + b"\n"
        with self._lock:
            if self._file is None:
                return
            try:
                if self._size_bytes + len(line) > self._most_bytes_a_file and self._size_bytes > 0:
                    self._turn_over()
                self._file.write(line)
                self._size_bytes += len(line)
            except OSError as error:
                self._file = None
                say(f"requests are no longer logged to {self.path}: {error.strerror}")

    def close(self) -> None:
        """Ends the log."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _turn_over(self) -> None:
        self._file.close()
        os.replace(self.path, f"{self.path}.1")
        self._file = self.path.open("ab", buffering=0)
        self._size_bytes = 0
