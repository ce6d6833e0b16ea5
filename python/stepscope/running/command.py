"""The command `stepscope run`: profiles a script, or a module as `python -m` takes it, as it is."""

from __future__ import annotations

import argparse
import dataclasses
import io
import os
import runpy
import sys
import types
from collections.abc import Callable
from functools import partial
from importlib.machinery import PathFinder
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from stepscope.errors import UsageError
from stepscope.saying import say

from .configuration import load, take_options
from .folder import traces_folder
from .function_profile import FunctionProfile
from .program import begin
from .settings import KEYS, Settings, nearest

_KEY_LINES = "\n".join(f"  {name:15} {key.meaning} ({getattr(Settings(), name)})" for name, key in KEYS.items())

_EPILOG = f"""\
keys of --profiling.KEY, and of the section `profiling:` of the config (default):
{_KEY_LINES.replace(f"({1024**3})", "(1GiB)").replace("(True)", "(true)").replace("(False)", "(false)")}

A step is an optimizer step, or a call of stepscope.step() if the script has any. An epoch is one pass through the
outermost DataLoader. A script without either is recorded from its import of torch until the trace may be as large as
max_bytes. Without --config, the section is looked for in SCRIPT_default.yaml beside the script; if there is no such
file, the defaults apply. If the config has no such section, the script runs without profiling. --profiling.KEY may also
stand among the arguments of the script, which does not see it. The ranks of a job write to one folder.

examples:
  stepscope run train.py --lr 0.1                              with the defaults
  stepscope run --config train.yaml train.py                   as the section `profiling:` says
  stepscope run --profiling.unit steps --profiling.wait 10 train.py
  stepscope run --cprofile train.py --lr 0.1                   which Python functions take the time
  stepscope run --output /data/runs train.py --profiling.active 1 --profiling.with_stack true
  stepscope run -m package.train --lr 0.1                      a module, as python -m runs it
  torchrun --nproc-per-node 4 -m stepscope run train.py        all ranks into one folder
"""

#: Calls what it is given, with something around the call.
Around = Callable[[Callable[[], Any]], None]


@dataclasses.dataclass(frozen=True)
class _Program:
    """A script, or a module."""

    name: str
    arguments: list[str]
    is_module: bool = False

    @property
    def short_name(self) -> str:
        """What the folder of its traces is called after."""
        if self.is_module:
            return self.name.removesuffix(".__main__").rpartition(".")[2]
        return Path(self.name).stem

    def run(self, around: Around) -> None:
        """Runs it as Python does, with something around it."""
        path = os.path.abspath(self.name)
        sys.argv = [self.name if self.is_module else path, *self.arguments]
        if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
            sys.path[0] = os.getcwd() if self.is_module else os.path.dirname(os.path.realpath(path))
        if self.is_module:
            around(partial(runpy.run_module, self.name, run_name="__main__", alter_sys=True))
        else:
            _run_script(path, around)


def _plainly(act: Callable[[], Any]) -> None:
    act()


def _run_script(path: str, around: Around) -> None:
    with io.open_code(path) as source:
        code = compile(source.read(), path, "exec")
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__)
    before, sys.modules["__main__"] = sys.modules["__main__"], main
    try:
        around(partial(exec, code, main.__dict__))
    finally:
        sys.modules["__main__"] = before


def main(arguments: list[str]) -> int:
    """Runs `stepscope run` with the arguments behind `run`; gives the exit code of the script, or 2 for wrong usage."""
    try:
        overrides, rest = take_options(arguments)
        options, unknown = _parser().parse_known_args(rest)
        if unknown:
            known = ["--config", "--output", "--cprofile", "--help", "--profiling."]
            near = nearest(unknown[0].partition("=")[0], known)
            near = "--profiling.KEY" if near == "--profiling." else near
            meant = f"did you mean `{near}`? " if near else ""
            hint = f"{meant}options of the script stand behind it; see stepscope run --help"
            raise UsageError(f"unknown option `{unknown[0]}`", "stepscope run", hint)
        program = _program(options.module, options.script)
        if options.cprofile and overrides:
            hint = "--profiling.KEY is about torch's profiler: leave out one of the two"
            raise UsageError(f"--cprofile does not go with --profiling.{overrides[0].key}", "stepscope run", hint)
        config = Path(options.config) if options.config else _default_config(program)
        settings, why_off = load(config, overrides)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    folder = traces_folder(options.output, config.stem if config else program.short_name)
    if options.cprofile:
        profile = FunctionProfile(folder.parent / f"{program.short_name}.prof")
        return _run(program, None, folder, profile.around)
    if settings is None:
        say(why_off)
    return _run(program, settings, folder)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, "stepscope run", "see stepscope run --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="stepscope run",
        usage="stepscope run [--config FILE] [--output DIR] [--cprofile | --profiling.KEY VALUE ...] "
        "SCRIPT [ARGUMENT ...]\n"
        "       stepscope run [...] -m MODULE [ARGUMENT ...]",
        description="Profiles a Python script as it is, and writes traces for the other commands to read.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", "-c", metavar="FILE", help="YAML file with a section `profiling:` at top level")
    parser.add_argument("--output", "-o", metavar="DIR", default="runs", help="folder for the traces (runs)")
    module_help = "run a module instead of a script, as python -m does"
    parser.add_argument("-m", dest="module", metavar="MODULE", nargs=argparse.REMAINDER, help=module_help)
    parser.add_argument("--cprofile", action="store_true", help="record Python functions instead of torch's profiler")
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER, help="the script and its arguments")
    return parser


def _program(module_words: list[str] | None, words: list[str]) -> _Program:
    if module_words is not None:
        return _module(module_words)
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        raise UsageError("there is no script to run", "stepscope run", "for example stepscope run train.py --lr 0.1")
    if not os.path.isfile(words[0]):
        raise UsageError("no such script", words[0], "options of stepscope run stand before the script")
    return _Program(words[0], words[1:])


def _module(words: list[str]) -> _Program:
    if not words:
        raise UsageError("-m has no module", "stepscope run", "for example stepscope run -m package.train --lr 0.1")
    # Only the package is looked for, as looking for what is in it would import it.
    package = words[0].partition(".")[0]
    if PathFinder.find_spec(package, [os.getcwd(), *sys.path]) is None:
        raise UsageError("no such module", words[0], "it is looked for in this folder and where Python looks")
    return _Program(words[0], words[1:], is_module=True)


def _default_config(program: _Program) -> Path | None:
    path = Path(program.name).with_name(f"{program.short_name}_default.yaml")
    return path if path.is_file() and not program.is_module else None


def _run(program: _Program, settings: Settings | None, folder: Path, around: Around = _plainly) -> int:
    recording = begin(settings, folder) if settings else None
    is_complete = False
    try:
        program.run(around)
        is_complete = True
        return 0
    except SystemExit:
        is_complete = True
        raise
    except BaseException as error:
        error.__traceback__ = _without_our_frames(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        # 128 + SIGINT, as shells say it.
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        if recording:
            recording.finish(is_complete=is_complete)


def _without_our_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback as it would be without `stepscope run`."""
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
