"""The command `stepscope lines`: runs a script as it is, and tells the time of its lines."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from stepscope._native import refuse_output, write_output
from stepscope.errors import OutputError, UsageError
from stepscope.program import Program
from stepscope.saying import say
from stepscope.termination import before_end

from .profiler import LineProfiler
from .result import LineProfile
from .table import terminal

_EPILOG = """\
Every file outside the standard library and the folders of installed packages is recorded, or the files that --files
names: a path, a folder, or a glob in quotes. Time holds the calls that a line makes. Threads are recorded (before
Python 3.12 those that the script starts with `threading`), other processes are not. The result comes behind what the
script prints, or goes to the file that --output names.

examples:
  stepscope lines train.py --lr 0.1                         annotated source of all functions that ran
  stepscope lines --files model.py --files 'layers/*' train.py
  stepscope lines --files '*/transformers/trainer.py' train.py
  stepscope lines --memory -m package.module                growth of memory by line; much slower
  stepscope lines -f json -o lines.json train.py
"""


#: The exit code of a command whose output cannot be written.
UNWRITABLE = 5


def main(arguments: list[str]) -> int:
    """Runs `stepscope lines` with the arguments behind `lines`; gives the exit code of the script, or 2 for wrong
    usage."""
    try:
        options, unknown = _parser().parse_known_args(arguments)
        if unknown:
            hint = "options of the script stand behind it; see stepscope lines --help"
            raise UsageError(f"unknown option `{unknown[0]}`", "stepscope lines", hint)
        program = Program.of("stepscope lines", options.module, options.script)
        output = Path(options.output) if options.output else None
        if output and not output.absolute().parent.is_dir():
            raise UsageError("there is no such folder", str(output.parent), "make it first, or name another --output")
        if output and output.is_dir():
            raise UsageError("--output is a folder", str(output), "name a file in it")
        if output and not program.is_module:
            refuse_output(output, [program.name])
        if options.limit < 0:
            raise UsageError(f"--limit must be 0 or more, not {options.limit}", "stepscope lines", "0 shows all")
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OutputError as error:
        print(f"error: {error}", file=sys.stderr)
        return UNWRITABLE
    profiler = LineProfiler(options.files, memory=options.memory)

    def around(act: Callable[[], Any]) -> None:
        with profiler:
            try:
                act()
            finally:
                _wait_for_threads()

    def tell() -> None:
        _tell(profiler.result(), options.format, output, options.limit)

    take_back = before_end(lambda _: tell())
    code = 0
    try:
        code = program.run(around)
    finally:
        take_back()
        try:
            tell()
        except OutputError as error:
            print(f"error: {error}", file=sys.stderr)
            code = code or UNWRITABLE
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, "stepscope lines", "see stepscope lines --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="stepscope lines",
        usage="stepscope lines [--files GLOB ...] [--memory] [--format FORMAT] [--output FILE] [--limit N]\n"
        "                       SCRIPT [ARGUMENT ...] | -m MODULE [ARGUMENT ...]",
        description="Runs a Python script as it is, and tells how often each line ran and how long it took.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--files", metavar="GLOB", action="append", help="files to record; may be given several times")
    parser.add_argument("--memory", action="store_true", help="also measure how memory grows by line (much slower)")
    formats = ("table", "json", "csv")
    parser.add_argument("--format", "-f", choices=formats, default="table", help="table (default), json or csv")
    parser.add_argument("--output", "-o", metavar="FILE", help="file for the result; else standard output")
    parser.add_argument("--limit", metavar="N", type=int, default=20, help="functions in the table (20); 0 is all")
    parser.add_argument("-m", dest="module", metavar="MODULE", nargs=argparse.REMAINDER, help="a module, as python -m")
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER, help="the script and its arguments")
    return parser


def _wait_for_threads() -> None:
    """As Python does before it ends: what they run is a part of the program."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _tell(profile: LineProfile, form: str, output: Path | None, limit: int) -> None:
    if not profile.rows:
        say("nothing recorded: no line of the wanted files ran; name them with --files, such as --files '*/package/*'")
    if form == "json":
        text = profile.to_json()
    elif form == "csv":
        text = profile.to_csv()
    elif profile.rows:
        text = profile.to_text(**({} if output else terminal()), limit=limit)
    else:
        text = ""
    if output:
        write_output(output, text, [])
        say(f"wrote {os.path.relpath(output)}")
    else:
        print(text, end="", flush=True)
