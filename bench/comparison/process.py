"""Runs one command to its end, and measures the time and memory of its process tree."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

POLL_S = 0.02


@dataclass
class Outcome:
    """What one command did."""

    wall_s: float
    peak_bytes: int
    output: str
    failure: str | None


def run(command: list[str], environment: dict[str, str], memory_limit_bytes: int | None, timeout_s: float) -> Outcome:
    """Runs a command; ends its process group when it takes too much memory or time."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begin = time.perf_counter()
        child = subprocess.Popen(command, env=environment, stdout=output, stderr=errors, start_new_session=True)
        watch = _Watch(child.pid, memory_limit_bytes, begin + timeout_s)
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - begin
        watch.stop()
        child.returncode = os.waitstatus_to_exitcode(status)
        failure = watch.failure
        if failure is None and child.returncode != 0:
            failure = f"exit code {child.returncode}: {_last_line(errors)}"
        output.seek(0)
        # The largest process by the kernel's own count, or all of them as sampled.
        peak_bytes = max(usage.ru_maxrss * 1024, watch.peak_bytes)
        return Outcome(wall_s, peak_bytes, output.read().decode(), failure)


class _Watch:
    """A thread that samples the resident memory of a process tree."""

    def __init__(self, root: int, memory_limit_bytes: int | None, deadline: float) -> None:
        self.failure: str | None = None
        self.peak_bytes = 0
        self._root = root
        self._limit = memory_limit_bytes
        self._deadline = deadline
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._done.wait(POLL_S):
            resident = sum(_resident_bytes(process) for process in _tree(self._root))
            self.peak_bytes = max(self.peak_bytes, resident)
            if self._limit is not None and resident > self._limit:
                self._end(f"more than {self._limit / 2**30:g} GiB of memory")
            elif time.perf_counter() > self._deadline:
                self._end("no answer in time")

    def _end(self, failure: str) -> None:
        self.failure = self.failure or failure
        if not self._done.is_set():
            os.killpg(self._root, signal.SIGKILL)


def _tree(root: int) -> list[int]:
    found = [root]
    for process in found:
        try:
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                found.extend(int(child) for child in children.read_text().split())
        except OSError:
            continue
    return found


def _resident_bytes(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _last_line(stream: object) -> str:
    stream.seek(0)
    lines = [line.strip() for line in stream.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:120] if lines else "no message"
