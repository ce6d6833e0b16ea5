"""The command `stepscope lines`: runs an unmodified script and reports the time of its lines."""

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
Records every file outside the standard library and the installed packages, or the files that --files names: a path, a
folder, or a glob in quotes. The time of a line includes the calls it makes. Records all threads; before Python 3.12,
those that the script starts with `threading`. Does not record other processes. Prints the result after the output of
the script, or writes it to the file that --output names.

examples:
  stepscope lines train.py --lr 0.1                         annotated source of all functions that ran
  stepscope lines --files model.py --files 'layers/*' train.py
  stepscope lines --files '*/transformers/trainer.py' train.py
  stepscope lines --memory -m package.module                memory growth per line; much slower
  stepscope lines -f json -o lines.json train.py
"""


#: The exit code of a command whose output cannot be written.
UNWRITABLE = 5


def main(arguments: list[str]) -> int:
    """Runs `stepscope lines` with the arguments after `lines`; returns the script's exit code, or 2 for wrong usage."""
    try:
        options, unknown = _parser().parse_known_args(arguments)
        if unknown:
            hint = "put options of the script after it; see stepscope lines --help"
            raise UsageError(f"unknown option `{unknown[0]}`", "stepscope lines", hint)
        program = Program.of("stepscope lines", options.module, options.script)
        output = Path(options.output) if options.output else None
        if output and not output.absolute().parent.is_dir():
            raise UsageError("no such folder", str(output.parent), "create it first, or pass another --output")
        if output and output.is_dir():
            raise UsageError("--output: expected a file, found a folder", str(output), "name a file in it")
        if output and not program.is_module:
            refuse_output(output, [program.name])
        if options.limit < 0:
            raise UsageError(f"--limit: expected 0 or more, found {options.limit}", "stepscope lines", "0 shows all")
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
        description="Run an unmodified Python script and report how often each line ran and how long it took.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--files", metavar="GLOB", action="append", help="files to record; may be repeated")
    parser.add_argument("--memory", action="store_true", help="also measure memory growth per line (much slower)")
    formats = ("table", "json", "csv")
    parser.add_argument("--format", "-f", choices=formats, default="table", help="table (default), json or csv")
    parser.add_argument("--output", "-o", metavar="FILE", help="file to write the result to (standard output)")
    parser.add_argument("--limit", metavar="N", type=int, default=20, help="functions to show (20); 0 shows all")
    module_help = "run a module, as python -m does"
    parser.add_argument("-m", dest="module", metavar="MODULE", nargs=argparse.REMAINDER, help=module_help)
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER, help="the script and its arguments")
    return parser


def _wait_for_threads() -> None:
    """Waits for threads, as Python does before it ends: they are part of the program."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _tell(profile: LineProfile, form: str, output: Path | None, limit: int) -> None:
    if not profile.rows:
        say("nothing recorded: no line of the chosen files ran; choose others, such as --files '*/package/*'")
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
