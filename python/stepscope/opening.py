"""Opens traces."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from time import monotonic

from stepscope._native import NativeRun
from stepscope._native import schema as native_schema
from stepscope.errors import UsageError
from stepscope.report import Report
from stepscope.run import Run
from stepscope.values import optional, size_in_bytes, whole_number

__all__ = ["open", "tables"]

_Path = str | os.PathLike[str]


def open(
    paths: _Path | Iterable[_Path],
    *,
    run: str | None = None,
    store: _Path | None = None,
    cache: bool = True,
    strict: bool = False,
    memory_limit: int | str | None = None,
    threads: int | None = None,
) -> Run:
    """Opens a trace file, a folder of traces, several files, or a store.

    Reads each trace once and caches the result, so the next `open` of the same files does not read them again.

    Args:
        paths: A trace file, a folder or a store, or several of them.
        run: Name of the run to open, or a part of it, if `paths` hold several runs.
        store: Folder to write the store to, instead of the cache.
        cache: Whether to use the cache; `False` reads the traces again and keeps nothing.
        strict: Whether to refuse a damaged trace; by default it opens as far as it can be read, with a warning.
        memory_limit: Memory to use at most: a number of bytes, or a size such as `"2GB"` (2 × 10^9 bytes) or `"2GiB"`
            (2 × 2^30 bytes).
        threads: Number of threads to use; chosen by the number of cores by default.

    Returns:
        The run, ready for analyses and SQL.

    Raises:
        NotFoundError: A path does not exist.
        TraceError: A trace cannot be read at all, or is damaged and `strict` is set.
        UsageError: `paths` hold several runs and `run` does not choose one.
    """
    native = NativeRun.open(
        _checked(paths),
        run=run,
        store=None if store is None else _path("store", store),
        no_cache=not cache,
        strict=strict,
        memory_limit_bytes=optional(size_in_bytes, "memory_limit", memory_limit),
        threads=optional(whole_number, "threads", threads, least=1),
        progress=_Progress(),
    )
    return Run(native)


def _checked(paths: _Path | Iterable[_Path]) -> list[str]:
    if isinstance(paths, (str, bytes, os.PathLike)):
        return [_path("paths", paths)]
    try:
        several = [_path("paths", path) for path in paths]
    except TypeError:
        raise TypeError(f"paths: expected one or more paths, found {paths!r}") from None
    if not several:
        raise UsageError("found no path, expected one or more", None, "pass a trace file, a folder or a store")
    return several


def _path(name: str, path: object) -> str:
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise TypeError(f"{name}: expected a path, found {path!r}")
    return text


def tables() -> Report:
    """Lists the tables, views and columns that `Run.sql` can query."""
    return Report(native_schema())


class _Progress:
    """Shows progress on standard error after one second, in a terminal or a notebook."""

    def __init__(self) -> None:
        self._begun = monotonic()
        self._is_seen = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._width = 0

    def update(self, file: str, done: int, total: int | None) -> None:
        if not self._is_seen or monotonic() - self._begun < 1:
            return
        share = f"{100 * done // total} % of {total / 1e6:,.0f} MB" if total else f"{done / 1e6:,.0f} MB"
        self._write(f"reading {file}: {share}")

    def finished(self, notices: list[str]) -> None:
        if self._width > 0:
            self._write("")
        for notice in notices:
            warnings.warn(notice, stacklevel=4)

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width) + ("\r" if text == "" else ""))
        sys.stderr.flush()
        self._width = len(text)
