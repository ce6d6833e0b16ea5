"""The command `stepscope run`: profiles a script as it is."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from stepscope.errors import UsageError
from stepscope.saying import say

from .configuration import load, take_options
from .function_profile import FunctionProfile
from .program import begin
from .recording import traces_folder
from .settings import KEYS, Settings, nearest

_KEY_LINES = "\n".join(f"  {name:15} {key.meaning} ({getattr(Settings(), name)})" for name, key in KEYS.items())

_EPILOG = f"""\
keys of --profiling.KEY, and of the section `profiling:` of the config (default):
{_KEY_LINES.replace(f"({1024**3})", "(1GiB)").replace("(True)", "(true)").replace("(False)", "(false)")}

A step is an optimizer step, or a call of stepscope.step() if the script has any. An epoch is one pass through the
outermost DataLoader. Without --config, the section is looked for in SCRIPT_default.yaml beside the script; if there
is no such file, the defaults apply. If the config has no such section, the script runs without profiling.
--profiling.KEY may also stand among the arguments of the script, which does not see it.

examples:
  stepscope run train.py --lr 0.1                              with the defaults
  stepscope run --config train.yaml train.py                   as the section `profiling:` says
  stepscope run --profiling.unit steps --profiling.wait 10 train.py
  stepscope run --cprofile train.py --lr 0.1                   which Python functions take the time
  stepscope run --output /data/runs train.py --profiling.active 1 --profiling.with_stack true
"""


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
        script, script_arguments = _split(options.script)
        if options.cprofile and overrides:
            hint = "--profiling.KEY is about torch's profiler: leave out one of the two"
            raise UsageError(f"--cprofile does not go with --profiling.{overrides[0].key}", "stepscope run", hint)
        config = Path(options.config) if options.config else _default_config(script)
        settings, why_off = load(config, overrides)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    folder = traces_folder(options.output, (config or script).stem)
    if options.cprofile:
        profile = FunctionProfile(folder.parent / f"{script.stem}.prof")
        return _run(script, script_arguments, None, folder, profile.run)
    if settings is None:
        say(why_off)
    return _run(script, script_arguments, settings, folder)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, "stepscope run", "see stepscope run --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="stepscope run",
        usage="stepscope run [--config FILE] [--output DIR] [--cprofile | --profiling.KEY VALUE ...] "
        "SCRIPT [ARGUMENT ...]",
        description="Profiles a Python script as it is, and writes traces for the other commands to read.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", "-c", metavar="FILE", help="YAML file with a section `profiling:` at top level")
    parser.add_argument("--output", "-o", metavar="DIR", default="runs", help="folder for the traces (runs)")
    parser.add_argument("--cprofile", action="store_true", help="record Python functions instead of torch's profiler")
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER, help="the script and its arguments")
    return parser


def _split(words: list[str]) -> tuple[Path, list[str]]:
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        raise UsageError("there is no script to run", "stepscope run", "for example stepscope run train.py --lr 0.1")
    if not os.path.isfile(words[0]):
        raise UsageError("no such script", words[0], "options of stepscope run stand before the script")
    return Path(words[0]), words[1:]


def _default_config(script: Path) -> Path | None:
    path = script.with_name(f"{script.stem}_default.yaml")
    return path if path.is_file() else None


def _run_path(path: str) -> None:
    runpy.run_path(path, run_name="__main__")


def _run(
    script: Path,
    arguments: list[str],
    settings: Settings | None,
    folder: Path,
    run_script: Callable[[str], None] = _run_path,
) -> int:
    path = os.path.abspath(script)
    sys.argv = [path, *arguments]
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    recording = begin(settings, folder) if settings else None
    is_complete = False
    try:
        run_script(path)
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
