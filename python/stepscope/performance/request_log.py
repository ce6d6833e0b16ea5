"""Logs requests in bounded size: a file with one JSON object per request, and the last requests in memory."""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, overload

from stepscope.errors import UsageError
from stepscope.saying import say

__all__ = ["MetricsLog", "RequestLog", "entry_of"]

_MOST_REQUESTS = 10_000

#: Unix time, id, latency inside and for the user in seconds, memory in MB, CPU in percent.
Request = tuple[float, Hashable, "float | None", "float | None", "float | None", "float | None"]


def entry_of(request: Request) -> dict[str, Any]:
    """Returns the log entry of a request; the timestamp is local time, as from `datetime.now().isoformat()`."""
    time_s, request_id, internal_latency, user_facing_latency, memory_mb, cpu_percent = request
    return {
        "timestamp": datetime.fromtimestamp(time_s).isoformat(),
        "request_id": request_id,
        "internal_latency": internal_latency,
        "user_facing_latency": user_facing_latency,
        "memory_mb": memory_mb,
        "cpu_percent": cpu_percent,
    }


class MetricsLog(Sequence[dict[str, Any]]):
    """The last 10,000 requests as a list of dictionaries, created on access."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque(maxlen=_MOST_REQUESTS)

    def append(self, request: Request) -> None:
        """Adds a request; past the limit, the oldest is removed."""
        self._requests.append(request)

    def __len__(self) -> int:
        return len(self._requests)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(place, slice):
            return [entry_of(request) for request in list(self._requests)[place]]
        return entry_of(self._requests[place])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        # A copy: other threads log meanwhile.
        return iter([entry_of(request) for request in self._requests.copy()])

    def __repr__(self) -> str:
        return f"<MetricsLog of {len(self):,} requests>"


class RequestLog:
    """Writes lines to a file; a full one is renamed to `<name>.1`, overwriting the previous one.

    A log that can no longer be written is reported once and then dropped: no request fails because of it.
    """

    def __init__(self, path: str | os.PathLike[str], limit_bytes: int) -> None:
        self.path = Path(path)
        self._most_bytes_a_file = max(limit_bytes // 2, 1)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: Any = self.path.open("ab", buffering=0)
        except OSError as error:
            hint = "pass a file that this program may write"
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
                say(f"stopped logging requests to {self.path}: {error.strerror}")

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
