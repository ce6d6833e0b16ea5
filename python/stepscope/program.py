"""Runs a script or a module as Python itself would run it."""

from __future__ import annotations

import io
import os
import runpy
import sys
import types
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from stepscope.errors import UsageError

#: Calls what it is given, with something around the call.
Around = Callable[[Callable[[], Any]], None]


def plainly(act: Callable[[], Any]) -> None:
    """Calls it, with nothing around the call."""
    act()


@dataclass(frozen=True)
class Program:
    """The program that a command runs: a script, or `-m` and a module, with its arguments."""

    name: str
    arguments: list[str]
    is_module: bool = False

    @staticmethod
    def of(command: str, module: list[str] | None, script: list[str]) -> Program:
        """Reads the program from the arguments of a command, and checks that it exists."""
        if module is not None:
            return _module(command, module)
        words = script[1:] if script[:1] == ["--"] else script
        if not words:
            raise UsageError("found no script, expected one", command, f"{command} train.py --lr 0.1")
        if not os.path.isfile(words[0]):
            raise UsageError("no such script", words[0], f"put options of {command} before the script")
        return Program(words[0], words[1:])

    @property
    def short_name(self) -> str:
        """Returns a short name for files and folders of its results."""
        if self.is_module:
            return self.name.removesuffix(".__main__").rpartition(".")[2]
        return Path(self.name).stem

    def run(self, around: Around = plainly) -> int:
        """Runs it and returns its exit code, or raises its `SystemExit`."""
        path = os.path.abspath(self.name)
        sys.argv = [self.name if self.is_module else path, *self.arguments]
        if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
            sys.path[0] = os.getcwd() if self.is_module else os.path.dirname(os.path.realpath(path))
        try:
            if self.is_module:
                around(partial(runpy.run_module, self.name, run_name="__main__", alter_sys=True))
            elif zipfile.is_zipfile(path):
                around(partial(runpy.run_path, path, run_name="__main__"))
            else:
                _run_script(path, around)
            return 0
        except SystemExit:
            raise
        except BaseException as error:
            error.__traceback__ = _without_our_frames(error.__traceback__)
            sys.excepthook(type(error), error, error.__traceback__)
            # 128 + SIGINT, as shells say it.
            return 130 if isinstance(error, KeyboardInterrupt) else 1


def _module(command: str, words: list[str]) -> Program:
    if not words:
        raise UsageError("found no module, expected one after -m", command, f"{command} -m package.train --lr 0.1")
    # Only the package is looked for, as looking for what is in it would import it.
    package = words[0].partition(".")[0]
    if PathFinder.find_spec(package, [os.getcwd(), *sys.path]) is None:
        raise UsageError("no such module", words[0], "modules are searched in the current folder and in sys.path")
    return Program(words[0], words[1:], is_module=True)


def _run_script(path: str, around: Around) -> None:
    with io.open_code(path) as source:
        code = compile(source.read(), path, "exec")
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__)
    before, sys.modules["__main__"] = sys.modules["__main__"], main
    try:
        # Not runpy, whose frames would be a part of what is recorded.
        around(partial(exec, code, main.__dict__))
    finally:
        sys.modules["__main__"] = before


def _without_our_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """Removes the frames of the command: the traceback starts at the first line of the program."""
    ours = os.path.dirname(__file__) + os.sep
    while traceback:
        file = traceback.tb_frame.f_code.co_filename
        if not (file.startswith(ours) or file in ("<frozen runpy>", runpy.__file__)):
            break
        traceback = traceback.tb_next
    return traceback
