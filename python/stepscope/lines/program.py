"""A script or a module, run as Python itself would run it."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import threading
from dataclasses import dataclass
from types import TracebackType

from stepscope.errors import UsageError

from .profiler import LineProfiler


@dataclass(frozen=True)
class Program:
    """What stands behind the options: a script or `-m` and a module, with arguments."""

    name: str
    arguments: list[str]
    is_module: bool

    @staticmethod
    def of(module: list[str] | None, script: list[str]) -> Program:
        """Checks that it is there."""
        if module is not None:
            if not module:
                raise UsageError("there is no module to run", "stepscope lines -m", "for example -m package.module")
            _enter_folder("")
            if not _has_module(module[0]):
                raise UsageError("no such module", module[0], "it is looked for where python -m does")
            return Program(module[0], module[1:], is_module=True)
        words = script[1:] if script[:1] == ["--"] else script
        if not words:
            hint = "for example stepscope lines train.py --lr 0.1"
            raise UsageError("there is no script to run", "stepscope lines", hint)
        if not os.path.isfile(words[0]):
            raise UsageError("no such script", words[0], "options of stepscope lines stand before the script")
        return Program(os.path.abspath(words[0]), words[1:], is_module=False)

    def run(self, profiler: LineProfiler) -> int:
        """Runs it to its end, its threads too; gives its exit code, or leaves with its `SystemExit`."""
        sys.argv = [self.name, *self.arguments]
        if not self.is_module:
            _enter_folder(os.path.dirname(os.path.realpath(self.name)))
        try:
            with profiler:
                try:
                    if self.is_module:
                        runpy.run_module(self.name, run_name="__main__", alter_sys=True)
                    else:
                        runpy.run_path(self.name, run_name="__main__")
                finally:
                    _wait_for_threads()
            return 0
        except SystemExit:
            raise
        except BaseException as error:
            error.__traceback__ = _without_our_frames(error.__traceback__)
            sys.excepthook(type(error), error, error.__traceback__)
            # 128 + SIGINT, as shells say it.
            return 130 if isinstance(error, KeyboardInterrupt) else 1


def _enter_folder(folder: str) -> None:
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[0] = folder


def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _wait_for_threads() -> None:
    """As Python does before it ends: what they run is a part of the program."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _without_our_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback as it would be without `stepscope lines`."""
    ours = os.path.dirname(__file__) + os.sep
    kept: list[TracebackType] = []
    while traceback:
        file = traceback.tb_frame.f_code.co_filename
        if not (file.startswith(ours) or file in ("<frozen runpy>", runpy.__file__)):
            kept.append(traceback)
        traceback = traceback.tb_next
    for index, entry in enumerate(kept):
        entry.tb_next = kept[index + 1] if index + 1 < len(kept) else None
    return kept[0] if kept else None
