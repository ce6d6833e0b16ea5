"""Records the steps or epochs of the program that runs, and says at the end what was recorded and where it is."""

from __future__ import annotations

import contextlib
import importlib
import os
import shlex
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stepscope.saying import say

from .after_import import after_import, is_installed
from .counting import Counter, wrap
from .folder import worker_name
from .settings import Settings
from .watching import Watch


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences the last words of the profiler, which would speak of steps where these are epochs."""
    before = os.environ.get("STEPSCOPE_QUIET")
    os.environ["STEPSCOPE_QUIET"] = "1"
    try:
        yield
    finally:
        del os.environ["STEPSCOPE_QUIET"]
        if before is not None:
            os.environ["STEPSCOPE_QUIET"] = before


class Recording:
    """The recording of one program, from the import of torch to the end.

    Whether a script has steps or epochs shows only later, so the whole script is recorded at first. That recording is
    thrown away at the first sign of a step or an epoch, and the schedule begins. If none comes, it ends with the script
    or when it may be as large as the settings allow.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.folder = folder
        self.counter: Counter | None = None
        self._folder_from_root = folder.absolute()  # The program may change its folder.
        self._worker = worker_name()
        self._process_id = os.getpid()
        self._profiler: Any = None
        # Stays until the end: torch 2.15 crashes when a profiler goes away while the next one records.
        self._thrown_away: Any = None
        self._is_profiler_ours = False
        self._units_ended = 0
        self._units_recorded = 0
        self._has_recorded_part = False
        self._is_whole_script = False
        self._watch: Watch | None = None
        self._cut_after_s: float | None = None
        self._trouble = ""

    def start(self) -> None:
        """Begins as soon as the program imports torch."""
        if is_installed("torch"):
            after_import("torch", self._torch_imported)
        else:
            say("torch is not installed, so there is nothing to record")

    def finish(self, *, is_complete: bool = True) -> None:
        """Writes what was recorded so far and says where it is; does nothing in a fork of the program."""
        if os.getpid() != self._process_id:
            return
        self._end_watch()
        if self.counter is not None:
            self.counter.detach(is_complete=is_complete)
            self._has_recorded_part = self._has_recorded_part or self._is_recording_unit()
            self._stop()
            say(self._summary(self.counter))
        elif is_installed("torch"):
            say("nothing recorded: the program did not import torch")

    def _torch_imported(self) -> None:
        # A schedule that records from the first moment on holds the whole script anyway.
        self._is_whole_script = not self.settings.records(0)
        self._start()
        self.counter = Counter(self.settings.unit, self._units_found, self._unit_ended)
        self.counter.attach()
        autograd_profiler = importlib.import_module("torch.autograd.profiler")
        if hasattr(autograd_profiler.profile, "_prepare_trace"):  # A private name: some version may not have it.
            wrap(autograd_profiler.profile, "_prepare_trace", self._give_way)
        if threading.current_thread() is threading.main_thread():
            self._watch = Watch(self.settings.max_bytes, self._cut)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.stop()

    def _cut(self) -> bool:
        """Ends a recording without steps or epochs that may be full; not possible in the middle of some things."""
        if self._profiler is None or self._watch is None:
            return True
        # Behind a backward pass torch would switch the profiler on again, which it has found on.
        graph_task = getattr(importlib.import_module("torch")._C, "_current_graph_task_id", lambda: -1)
        if self._is_profiler_ours or graph_task() != -1:
            return False
        self._cut_after_s = self._watch.age_s()
        self._thrown_away = self._profiler
        self._stop()
        say(
            f"stopped recording after {self._cut_after_s:.1f} s without a step or an epoch, as the trace may have "
            "reached --profiling.max_bytes; the script goes on, and is recorded again from its first step or epoch on"
        )
        return True

    def _units_found(self) -> None:
        self._end_watch()
        is_cut = self._cut_after_s is not None
        if not (self._is_whole_script or is_cut):
            return
        self._is_whole_script, self._cut_after_s = False, None
        if is_cut:
            self._attempt(self._remove_traces)
        else:
            self._thrown_away = self._profiler
            self._stop()
        self._start()

    def _unit_ended(self, samples: int | None) -> None:
        self._units_recorded += self._is_recording_unit()
        self._units_ended += 1
        if self._profiler is not None:
            self._attempt(lambda: self._profiler.step(samples))

    def _is_recording_unit(self) -> bool:
        # The profiler may record a unit of the warm-up to learn its size, and may end early to keep to its budget.
        is_recording = self._profiler is not None and self._profiler.current_action.name.startswith("RECORD")
        return is_recording and self.settings.records(self._units_ended)

    def _give_way(self, prepare: Callable[[Any], None], profiler: Any) -> None:
        if self._profiler is not None and not self._is_profiler_ours:
            self._is_whole_script = False
            self._has_recorded_part = self._is_recording_unit()
            self._stop()
            self._trouble = "the script uses torch's profiler itself, and there can be only one at a time"
        prepare(profiler)

    def _start(self) -> None:
        self._profiler = self._attempt(self._started_profiler)

    def _stop(self) -> None:
        if self._profiler is not None:
            with _quiet():
                self._attempt(self._profiler.stop)
            self._profiler = None

    def _attempt(self, action: Callable[[], Any]) -> Any:
        # Whatever is wrong with the recording, the program that is watched goes on.
        self._is_profiler_ours = True
        try:
            return action()
        except Exception as error:
            self._trouble = self._trouble or f"the profiler failed with {type(error).__name__}: {error}"
            self._profiler = None
            return None
        finally:
            self._is_profiler_ours = False

    def _started_profiler(self) -> Any:
        from stepscope.torch import ProfilerAction, profile, schedule, trace_handler

        settings = self.settings
        is_whole_script = self._is_whole_script
        save = trace_handler(str(self._folder_from_root), self._worker)
        plan = schedule(wait=settings.wait, warmup=settings.warmup, active=settings.active, repeat=settings.repeat)
        profiler = profile(
            schedule=(lambda step: ProfilerAction.RECORD_AND_SAVE) if is_whole_script else plan,
            on_trace_ready=lambda profiler: save(profiler) if is_whole_script == self._is_whole_script else None,
            record_shapes=settings.record_shapes,
            profile_memory=settings.profile_memory,
            with_stack=settings.with_stack,
            with_flops=settings.with_flops,
            with_modules=settings.with_modules,
            max_bytes=settings.max_bytes,
        )
        profiler.start()
        return profiler

    def _traces(self) -> list[Path]:
        """What this program has written; the other ranks of a job write to the same folder."""
        folder = self._folder_from_root
        traces = folder.iterdir() if folder.is_dir() else []
        return [trace for trace in traces if trace.name.startswith(f"{self._worker}.")]

    def _remove_traces(self) -> None:
        for trace in self._traces():
            trace.unlink()

    def _summary(self, counter: Counter) -> str:
        if not self._traces():
            return f"nothing recorded: {self._trouble or self._why_nothing(counter)}"
        look = f"look at it with: stepscope open {shlex.quote(str(self.folder))}"
        if not counter.has_units and not self._trouble:
            cut = self._cut_after_s
            part = "the whole script" if cut is None else f"the first {cut:.1f} s of the script"
            why = "its main thread made no optimizer step and read no DataLoader"
            more = "" if cut is None else "; for more, raise --profiling.max_bytes or call stepscope.step()"
            return f"recorded {part} as one step, as {why}{more}; {look}"
        recorded = self._number(self._units_recorded)
        part = " and a part of one" if self._has_recorded_part else ""
        problem = self._trouble or ("" if self._units_ended else self._why_nothing(counter))
        return f"recorded {recorded}{part}{f' ({problem})' if problem else ''}; {look}"

    def _why_nothing(self, counter: Counter) -> str:
        settings = self.settings
        skipped = settings.wait + settings.warmup
        if self._units_ended > skipped:
            return f"one {settings.unit[:-1]} is larger than --profiling.max_bytes allows"
        if self._units_ended:
            ended = f"the script ended after {self._number(self._units_ended)}"
            return f"{ended}, {skipped:,} are skipped; lower --profiling.wait or --profiling.warmup"
        if settings.unit == "steps":
            return "no optimizer stepped; call stepscope.step() at the end of each step, or use --profiling.unit epochs"
        steps = f"; it made {counter.steps:,} steps" if counter.steps else ""
        change = "use --profiling.unit steps" + ("" if steps else " and call stepscope.step() at the end of each step")
        return f"no DataLoader was read to its end, so there was no epoch{steps}: {change}"

    def _number(self, count: int) -> str:
        return f"{count:,} {self.settings.unit if count != 1 else self.settings.unit[:-1]}"
