"""Writes trace files completely or not at all, and measures, copies and joins them."""

from __future__ import annotations

import errno
import gzip
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Literal

from stepscope.torch.budget import Size

_CHUNK_BYTES = 1 << 20
_EVENT_MARK = b'"ph":'
_EVENT_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_CLOSING_SPAN = re.compile(rb'\{[^{}]*"cat"\s*:\s*"Trace"')
_PROBE_BYTES = 1 << 16
_IDS = re.compile(rb'("(?:id|Ev Idx|Python id|Python parent id)"\s*:\s*)(\d+)')
_EARLIER_ID_OFFSET = 1_000_000_000


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Lets `write` create a hidden file next to `path` and renames it, so that half a trace is never read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The name must not look like a trace's, but says `.gz` if the trace's does, as torch compresses by it.
    suffix = ".partial.gz" if path.suffix == ".gz" else ".partial"
    partial = path.with_name(f".stepscope-{os.getpid()}-{time.time_ns()}{suffix}")
    try:
        write(partial)
        _check_whole(partial, path)
        os.replace(partial, path)
    finally:
        # Kineto writes to a name of its own first, and leaves it behind when the disk is full.
        for leftover in (partial, partial.with_name(f"{partial.name}.tmp")):
            leftover.unlink(missing_ok=True)


def _check_whole(partial: Path, path: Path) -> None:
    """Raises an error if the trace is not complete: torch does not report that it could not write one."""
    if partial.exists() and (partial.suffix == ".gz" or _last_byte(partial) == b"}"):
        return
    probe = partial.with_name(f"{partial.name}.probe")
    try:
        probe.write_bytes(bytes(_PROBE_BYTES))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        probe.unlink(missing_ok=True)
    raise OSError(errno.EIO, "torch did not write the trace", str(path))


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as trace:
        trace.seek(max(path.stat().st_size - 64, 0))
        return trace.read().rstrip()[-1:]


def copy_trace(source: Path, target: Path) -> None:
    """Copies a trace, compressing or decompressing as the names ask for."""
    with _open(source, "rb") as readable, _open(target, "wb") as writable:
        shutil.copyfileobj(readable, writable, _CHUNK_BYTES)


def measure_trace(path: Path) -> Size:
    """Returns the size of a plain JSON trace, without parsing it."""
    size_bytes = events = 0
    tail = b""
    with path.open("rb") as trace:
        while chunk := trace.read(_CHUNK_BYTES):
            size_bytes += len(chunk)
            # A mark may lie across the border of two chunks.
            events += (tail + chunk).count(_EVENT_MARK)
            tail = chunk[-(len(_EVENT_MARK) - 1) :]
    return Size(size_bytes, events)


def join_traces(earlier: Path, later: Path, target: Path) -> None:
    """Writes one plain trace that holds the events of two consecutive recordings.

    Some ids start again in each recording, so those of the earlier one are offset.
    """
    earlier_text = earlier.read_bytes()
    start = _EVENT_LIST.search(earlier_text)
    if start is None:
        raise ValueError(f"no traceEvents found in the trace: {earlier}")
    # Kineto closes a trace with the span and the end of the recording; the joined one ends where the later one does.
    closing = _CLOSING_SPAN.search(earlier_text, start.end())
    events = earlier_text[start.end() : closing.start() if closing else start.end()]
    events = _IDS.sub(lambda match: match[1] + b"%d" % (int(match[2]) + _EARLIER_ID_OFFSET), events)
    with later.open("rb") as rest, target.open("wb") as joined:
        head = rest.read(_CHUNK_BYTES)
        border = _EVENT_LIST.search(head)
        if border is None:
            raise ValueError(f"no traceEvents found in the trace: {later}")
        joined.write(head[: border.end()] + events + head[border.end() :])
        shutil.copyfileobj(rest, joined, _CHUNK_BYTES)


def free_bytes(folder: Path) -> int:
    """Returns the free space of a folder, or of the nearest existing folder above it."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _open(path: Path, mode: Literal["rb", "wb"]) -> IO[bytes] | gzip.GzipFile:
    if path.suffix == ".gz":
        # Level 6 is half as fast to write as level 1 and a third smaller; the default, 9, only takes longer.
        return gzip.GzipFile(path, mode, compresslevel=6)
    return path.open(mode)
