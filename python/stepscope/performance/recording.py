"""Recordings of a program and of the processes that it starts: all go to one file."""

from __future__ import annotations

import os
import sys

from stepscope import _native
from stepscope.errors import UsageError
from stepscope.saying import say

__all__ = ["join", "start", "stop"]

#: Where the program that started this one records, and how many bytes that may be.
_VARIABLE = "STEPSCOPE_RECORDING"


_profilers = 0


def start(folder: str | os.PathLike[str], limit_bytes: int) -> str:
    """Starts a recording in a folder and gives its file.

    A process has one recording: a second profiler shares it, and so does a program that a recording one started.
    """
    global _profilers
    join()
    path = _native.recording_path()
    if path is None:
        path = _begin(os.fspath(folder), limit_bytes)
        # For processes that are started anew; a fork goes on by itself.
        os.environ[_VARIABLE] = f"{os.getpid()}:{limit_bytes}:{path}"
        _write_before_workers_end()
    elif _profilers and os.path.realpath(folder) != os.path.dirname(os.path.realpath(path)):
        say(f"this process records to {path} already; nothing goes to {os.fspath(folder)}")
    _profilers += 1
    return path


def _begin(folder: str, limit_bytes: int) -> str:
    try:
        return _native.start_recording(folder, limit_bytes)
    except OSError as error:
        raise UsageError(str(error), None, "record= names a folder that this program may write to") from error


def join() -> None:
    """Records into the file of the program that started this one, if it records."""
    if _VARIABLE not in os.environ or _native.recording_path() is not None:
        return
    _, limit_bytes, path = os.environ[_VARIABLE].split(":", 2)
    if os.path.exists(path):
        _native.join_recording(path, int(limit_bytes))
        _write_before_workers_end()


def stop() -> None:
    """Writes the rest; closes the file once no profiler needs it any more."""
    global _profilers
    _profilers -= 1
    if _profilers > 0:
        _native.flush_recording()
        return
    started_by = os.environ.get(_VARIABLE, "").partition(":")[0]
    if started_by == str(os.getpid()):
        del os.environ[_VARIABLE]
    _native.stop_recording()


def _write_before_workers_end() -> None:
    """Processes of `multiprocessing`, such as the workers of a DataLoader, end without the usual goodbye."""
    import atexit
    from multiprocessing import util

    atexit.register(_native.flush_recording)
    # Kept alive by the module, which is what the registration needs.
    util.register_after_fork(sys.modules[__name__], _write_at_the_end)
    _write_at_the_end(None)


def _write_at_the_end(_: object) -> None:
    from multiprocessing import util

    util.Finalize(None, _native.flush_recording, exitpriority=0)
