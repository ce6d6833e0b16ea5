"""Runs a block of the program under cProfile, for `stepscope run --cprofile`."""

from __future__ import annotations

import contextlib
import marshal
import os
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stepscope.saying import say

_OURS = (os.path.dirname(__file__) + os.sep, contextlib.__file__)
_LAUNCHERS = ("<frozen runpy>", runpy.__file__)


@contextlib.contextmanager
def function_profile(path: Path) -> Iterator[None]:
    """Adds up the calls of all functions, writes them to `path` and says how to look at them."""
    import cProfile

    target = path.absolute()  # The program may change its folder.
    process_id = os.getpid()
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        yield
    finally:
        profiler.disable()
        if os.getpid() == process_id:
            _write(profiler, target, path)


def _write(profiler: Any, target: Path, shown: Path) -> None:
    profiler.create_stats()
    functions = _of_program(profiler.stats)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(marshal.dumps(functions))
    except OSError as error:
        # Whatever is wrong with the recording, the program ends as it would without.
        say(f"the profile is not written: {error.strerror}: {shown}")
        return
    count = f"{len(functions):,} function{'' if len(functions) == 1 else 's'}"
    say(f"recorded {count}; look at them with: stepscope functions {shlex.quote(str(shown))}")


def _of_program(functions: dict[Any, Any]) -> dict[Any, Any]:
    """The functions without those that started the program, as it would be recorded without us."""
    return {
        function: (*figures[:4], {caller: told for caller, told in figures[4].items() if not _is_launcher(caller)})
        for function, figures in functions.items()
        if not _is_launcher(function)
    }


def _is_launcher(function: tuple[str, int, str]) -> bool:
    return function[0].startswith(_OURS) or function[0] in _LAUNCHERS
