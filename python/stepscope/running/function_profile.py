"""Runs a script under cProfile, for `stepscope run --cprofile`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepscope.saying import say
from stepscope.termination import before_end


class FunctionProfile:
    """Records the cProfile profile of one script."""

    def __init__(self, path: Path) -> None:
        self._shown = path
        self._path = path.absolute()  # The script may change its folder.
        self._process_id = os.getpid()

    def around(self, act: Callable[[], Any]) -> None:
        """Records a call, writes its profile and prints how to open it, however the call ends."""
        import cProfile

        profiler = cProfile.Profile()
        take_back = before_end(lambda _: self._finish(profiler))
        profiler.enable()
        try:
            act()
        finally:
            profiler.disable()  # Before anything of ours could be in it.
            take_back()
            self._finish(profiler)

    def _finish(self, profiler: Any) -> None:
        profiler.disable()
        if os.getpid() != self._process_id:
            return  # A fork of the script knows only a part.
        try:
            self._write(profiler)
        except KeyboardInterrupt:
            say("no profile was written: interrupted before it was complete")
            raise

    def _write(self, profiler: Any) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            profiler.dump_stats(self._path)
        except OSError as error:
            # Whatever is wrong with the recording, the script ends as it would without.
            say(f"no profile was written: {error.strerror}: {self._shown}")
            return
        count = f"{len(profiler.stats):,} function{'' if len(profiler.stats) == 1 else 's'}"
        say(f"recorded {count}; show them with: stepscope functions {shlex.quote(str(self._shown))}")
