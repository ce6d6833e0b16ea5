"""Notices the traces that a program records itself, with the profilers of TensorFlow and JAX.

`stepscope run` records torch. A program that uses `stepscope.tensorflow`, `stepscope.keras`, `stepscope.jax` or the
frameworks' own profilers has chosen what to record, so its last line names those traces.
"""

from __future__ import annotations

import functools
import importlib
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from .after_import import after_import, is_installed


class _Framework(NamedTuple):
    name: str
    package: str
    #: The module and the function that every way to start its profiler passes through.
    module: str
    start: str
    advice: str


_FRAMEWORKS = (
    _Framework(
        "TensorFlow",
        "tensorflow",
        "tensorflow.python.profiler.profiler_v2",
        "start",
        "pass stepscope.keras.Callback() to fit(), or use stepscope.tensorflow.profile(logdir)",
    ),
    _Framework("JAX", "jax", "jax._src.profiler", "start_trace", "use stepscope.jax.profile(log_dir)"),
)


class OtherFrameworks:
    """The profilers of frameworks other than torch, as a program uses them."""

    def __init__(self) -> None:
        self._started_s = time.time()
        self._folders: dict[Path, _Framework] = {}

    def attach(self) -> None:
        """Starts to listen, without importing a framework."""
        for framework in _FRAMEWORKS:
            if is_installed(framework.package):
                after_import(framework.module, functools.partial(self._listen, framework))

    @staticmethod
    def are_installed() -> bool:
        """Returns whether a program could use one of them."""
        return any(is_installed(framework.package) for framework in _FRAMEWORKS)

    def finish(self) -> None:
        """Ends what the program records with Stepscope and has not ended itself."""
        for framework in _FRAMEWORKS:
            module: Any = sys.modules.get(f"stepscope.{framework.package}")
            if module is not None and module.recorder.current is not None:
                module.recorder.stop()

    def recorded(self) -> str | None:
        """Returns which traces the program recorded; None if it recorded none."""
        written = {folder: framework for folder, framework in self._folders.items() if self._has_trace(folder)}
        if not written:
            return None
        names = " and ".join(sorted({framework.name for framework in written.values()}))
        places = " ".join(shlex.quote(os.path.relpath(folder)) for folder in written)
        return f"the program recorded itself with {names}; open with: stepscope open {places}"

    def why_nothing(self) -> str | None:
        """Returns what to call for a trace; None if the program uses no such framework."""
        for folder, framework in self._folders.items():
            return f"nothing recorded: {framework.name}'s profiler wrote no trace to {os.path.relpath(folder)}"
        for framework in _FRAMEWORKS:
            if framework.package in sys.modules:
                return f"nothing recorded: the program uses {framework.name} and starts no profiler; {framework.advice}"
        return None

    def _listen(self, framework: _Framework) -> None:
        module = importlib.import_module(framework.module)
        start = getattr(module, framework.start, None)
        if start is None:  # A private name: some version may not have it.
            return

        @functools.wraps(start)
        def start_and_note(*arguments: Any, **keywords: Any) -> Any:
            folder = arguments[0] if arguments else keywords.get("logdir", keywords.get("log_dir"))
            if folder and isinstance(folder, (str, os.PathLike)):
                self._note(Path(folder).absolute(), framework)
            return start(*arguments, **keywords)

        setattr(module, framework.start, start_and_note)

    def _note(self, folder: Path, framework: _Framework) -> None:
        # Stepscope's own capture lets the framework write aside first.
        self._folders[folder.parent if folder.name.startswith(".stepscope-") else folder] = framework

    def _has_trace(self, folder: Path) -> bool:
        traces = folder.glob("plugins/profile/*/*.xplane.pb")
        return any(trace.stat().st_mtime >= self._started_s - 1 for trace in traces)
