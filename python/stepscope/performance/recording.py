"""Records a program and the processes that it starts into one file."""

from __future__ import annotations

import os
import sys

from stepscope import _native
from stepscope.errors import UsageError
from stepscope.saying import say

__all__ = ["join", "start", "stop"]

#: File that the program that started this one records to, and its size limit in bytes.
_VARIABLE = "STEPSCOPE_RECORDING"


_profilers = 0


def start(folder: str | os.PathLike[str], limit_bytes: int) -> str:
    """Starts a recording in a folder and returns its file.

    A process has one recording: a second profiler shares it, and so does a program that a recorded one starts.
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
        say(f"this process already records to {path}; nothing is written to: {os.fspath(folder)}")
    _profilers += 1
    return path


def _begin(folder: str, limit_bytes: int) -> str:
    try:
        return _native.start_recording(folder, limit_bytes)
    except OSError as error:
        raise UsageError(str(error), None, "pass a folder with record= that this program may write to") from error


def join() -> None:
    """Joins the recording of the program that started this one, if it has one."""
    if _VARIABLE not in os.environ or _native.recording_path() is not None:
        return
    _, limit_bytes, path = os.environ[_VARIABLE].split(":", 2)
    if os.path.exists(path):
        _native.join_recording(path, int(limit_bytes))
        _write_before_workers_end()


def stop() -> None:
    """Writes what is left; closes the file once no profiler needs it."""
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
    """Writes before `multiprocessing` processes end: those, such as DataLoader workers, run no exit handlers."""
    import atexit
    from multiprocessing import util

    atexit.register(_native.flush_recording)
    # Kept alive by the module, which is what the registration needs.
    util.register_after_fork(sys.modules[__name__], _write_at_the_end)
    _write_at_the_end(None)


def _write_at_the_end(_: object) -> None:
    from multiprocessing import util

    util.Finalize(None, _native.flush_recording, exitpriority=0)
