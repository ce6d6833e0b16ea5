"""The command `stepscope run`: profiles an unmodified script, or a module as `python -m` runs it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from stepscope.errors import UsageError
from stepscope.program import Around, Program, plainly
from stepscope.saying import say

from .configuration import load, take_options
from .folder import traces_folder
from .function_profile import FunctionProfile
from .program import begin
from .settings import KEYS, Settings, nearest

_KEY_LINES = "\n".join(f"  {name:15} {key.meaning} ({getattr(Settings(), name)})" for name, key in KEYS.items())

_EPILOG = f"""\
keys of --profiling.KEY and of the `profiling:` section of the config (default):
{_KEY_LINES.replace(f"({1024**3})", "(1GiB)").replace("(True)", "(true)").replace("(False)", "(false)")}

A step is an optimizer step, or a call of stepscope.step() if the script makes any. An epoch is one pass through the
outermost DataLoader. A script with neither is recorded from its import of torch until the trace may reach max_bytes.

Without --config, settings come from SCRIPT_default.yaml next to the script, or from the defaults if that file does not
exist. If the config has no `profiling:` section, the script runs without profiling. --profiling.KEY also works among
the arguments of the script, which does not see it. All ranks of a job write to one folder.

examples:
  stepscope run train.py --lr 0.1                              use the defaults
  stepscope run --config train.yaml train.py                   use the `profiling:` section of a file
  stepscope run --profiling.unit steps --profiling.wait 10 train.py
  stepscope run --cprofile train.py --lr 0.1                   record Python functions with cProfile
  stepscope run --output /data/runs train.py --profiling.active 1 --profiling.with_stack true
  stepscope run -m package.train --lr 0.1                      run a module, as python -m does
  torchrun --nproc-per-node 4 -m stepscope run train.py        record all ranks into one folder
"""


def main(arguments: list[str]) -> int:
    """Runs `stepscope run` with the arguments after `run`; returns the script's exit code, or 2 for wrong usage."""
    try:
        overrides, rest = take_options(arguments)
        options, unknown = _parser().parse_known_args(rest)
        if unknown:
            known = ["--config", "--output", "--cprofile", "--help", "--profiling."]
            near = nearest(unknown[0].partition("=")[0], known)
            near = "--profiling.KEY" if near == "--profiling." else near
            meant = f"did you mean `{near}`? " if near else ""
            hint = f"{meant}put options of the script after it; see stepscope run --help"
            raise UsageError(f"unknown option `{unknown[0]}`", "stepscope run", hint)
        program = Program.of("stepscope run", options.module, options.script)
        if options.cprofile and overrides:
            hint = "--profiling.KEY sets torch's profiler: remove one of the two"
            raise UsageError(f"--cprofile cannot be used with --profiling.{overrides[0].key}", "stepscope run", hint)
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
        description="Profile an unmodified Python script and write traces that the other commands read.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", "-c", metavar="FILE", help="YAML file with a top-level `profiling:` section")
    parser.add_argument("--output", "-o", metavar="DIR", default="runs", help="folder to write traces to (runs)")
    module_help = "run a module instead of a script, as python -m does"
    parser.add_argument("-m", dest="module", metavar="MODULE", nargs=argparse.REMAINDER, help=module_help)
    parser.add_argument("--cprofile", action="store_true", help="record Python functions with cProfile instead")
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER, help="the script and its arguments")
    return parser


def _default_config(program: Program) -> Path | None:
    path = Path(program.name).with_name(f"{program.short_name}_default.yaml")
    return path if path.is_file() and not program.is_module else None


def _run(program: Program, settings: Settings | None, folder: Path, around: Around = plainly) -> int:
    recording = begin(settings, folder, "--profiling.") if settings else None
    is_complete = True
    try:
        code = program.run(around)
        is_complete = code == 0
        return code
    finally:
        if recording:
            try:
                recording.finish(is_complete=is_complete)
            except KeyboardInterrupt:
                # 128 + SIGINT: it has said that there is no trace.
                sys.exit(130)
