"""Corrects the step marks in a trace file, where torch writes one too few or one too many.

Without a schedule, torch marks no steps. Ours starts with the first call of `step()`, when the first step is already
over: its mark is added to the file. Torch also writes a last mark when the profiler stops, right after the end of the
last step: an empty one.
"""

from __future__ import annotations

import json
import mmap
import re
import shutil
from pathlib import Path

_EVENT_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_FIELD = r'"{}"\s*:\s*("[^"]*"|[0-9.]+)'
_CHUNK_BYTES = 1 << 20


def recording_start_us(trace: Path) -> str | None:
    """Returns when the recording of a trace began, in its own microseconds, from Kineto's closing span."""
    with _mapped(trace) as text:
        at = text.rfind(b'"Trace"')
        return None if at < 0 else _field(text, text.rfind(b"{", 0, at), "ts")


def add_first_mark(trace: Path, step: int, start_us: str | None) -> None:
    """Adds the mark of the first step to a plain trace, from the start of the recording to the next mark."""
    with _mapped(trace) as text:
        start, _ = _mark_of(text, step + 1)
        border = _EVENT_LIST.search(text)
        if start is None or start_us is None or border is None:
            return
        end_us, process, thread = (_field(text, start, name) for name in ("ts", "pid", "tid"))
        if end_us is None or float(end_us) < float(start_us):
            return
        place = border.end()
    duration_us = f"{float(end_us) - float(start_us):.3f}"
    event = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}"}
    numbers = f'"pid": {process}, "tid": {thread}, "ts": {start_us}, "dur": {duration_us}, "args": {{}}'
    added = f"\n  {json.dumps(event)[:-1]}, {numbers}}},".encode()
    marked = trace.with_name(f"{trace.name}.marked")
    try:
        with trace.open("rb") as before, marked.open("wb") as after:
            after.write(before.read(place) + added)
            shutil.copyfileobj(before, after, _CHUNK_BYTES)
        marked.replace(trace)
    finally:
        marked.unlink(missing_ok=True)


def blank_mark(trace: Path, step: int) -> None:
    """Writes spaces over the mark of a step in a plain trace."""
    with trace.open("r+b") as file, mmap.mmap(file.fileno(), 0) as text:
        start, end = _mark_of(text, step)
        if start is None:
            return
        following = re.compile(rb"\s*,").match(text, end)
        if following is None:
            return
        text[start : following.end()] = b" " * (following.end() - start)


def _mark_of(text: mmap.mmap, step: int) -> tuple[int | None, int]:
    """Returns where the event that marks a step begins and ends."""
    name = re.compile(rb'"name"\s*:\s*"ProfilerStep#%d"' % step)
    for found in name.finditer(text):
        start = text.rfind(b"{", 0, found.start())
        event = re.compile(rb"[^{}]*(?:\{[^{}]*\}[^{}]*)*\}").match(text, start + 1)
        # On a device, the mark is drawn once more.
        if event is not None and b'"user_annotation"' in event[0]:
            return start, event.end()
    return None, 0


def _field(text: mmap.mmap, start: int, name: str) -> str | None:
    found = re.compile(_FIELD.format(name).encode()).search(text, start)
    return None if found is None else found[1].decode()


class _mapped:
    """Maps a file into memory without reading it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")

    def __enter__(self) -> mmap.mmap:
        self._text = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._text

    def __exit__(self, *_: object) -> None:
        self._text.close()
        self._file.close()
