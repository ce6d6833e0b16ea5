"""Records the steps or epochs of the running program, and prints at the end what was recorded and where it is."""

from __future__ import annotations

import enum
import importlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepscope.saying import say
from stepscope.termination import before_end, postponed
from stepscope.watching import Watch

from .after_import import after_import, is_installed
from .counting import Counter, wrap
from .folder import worker_name
from .other_frameworks import OtherFrameworks
from .settings import Settings
from .summary import Outcome, summary


class _Mode(enum.Enum):
    """What the running profiler records."""

    SCRIPT = enum.auto()
    #: Steps of the first epochs, for a script that has too few of them.
    TRIAL = enum.auto()
    UNITS = enum.auto()


class Recording:
    """The recording of one program, from the import of torch to the end.

    Whether a script has steps or epochs is known only later, so the whole script is recorded at first. That recording
    is discarded at the first step or epoch, and the schedule begins. If none comes, it ends with the script or when it
    may have reached the size that the settings allow.

    Whether a script has enough epochs is known only at its end. So its first steps are recorded by the same schedule,
    and discarded at the first epoch.
    """

    def __init__(self, settings: Settings, folder: Path, option_prefix: str) -> None:
        self.settings = settings
        self.folder = folder
        self.counter: Counter | None = None
        self._folder_from_root = folder.absolute()  # The program may change its folder.
        self._worker = worker_name()
        self._process_id = os.getpid()
        self._mode = _Mode.UNITS if settings.records(0) else _Mode.SCRIPT
        self._writer: Any = None
        self._profiler: Any = None
        # Stays until the end: torch 2.15 crashes when a profiler goes away while the next one records.
        self._thrown_away: list[Any] = []
        self._is_profiler_ours = False
        self._units_ended = 0
        self._is_behind_step = False
        self._trial_traces: list[Path] = []
        self._watch: Watch | None = None
        self._outcome = Outcome(settings, option_prefix)
        self._others = OtherFrameworks()
        self._take_back: Callable[[], None] = lambda: None
        self._is_finished = False

    def start(self) -> None:
        """Starts recording as soon as the program imports torch."""
        self._take_back = before_end(lambda why: self.finish(is_complete=why == "the program ended"))
        self._others.attach()
        if is_installed("torch"):
            after_import("torch", self._torch_imported)
        elif not self._others.are_installed():
            say("nothing will be recorded: torch is not installed; for Python functions: stepscope run --cprofile")

    def finish(self, *, is_complete: bool = True) -> None:
        """Writes what was recorded so far and prints where it is; does nothing in a fork of the program."""
        if os.getpid() != self._process_id or self._is_finished:
            return
        self._is_finished = True
        with postponed():
            self._finish(is_complete)
        self._take_back()

    def _finish(self, is_complete: bool) -> None:
        self._end_watch()
        self._others.finish()
        recorded_by_others = self._others.recorded()
        if recorded_by_others:
            say(recorded_by_others)
        if self.counter is not None:
            try:
                self.counter.detach(is_complete=is_complete)
                self._stop_and_note_part()
            except KeyboardInterrupt:
                say("no trace was written: interrupted before it was complete")
                raise
            self._outcome.failure = getattr(self._writer, "failure", None)
            say(summary(self._outcome, self.counter, self.folder, bool(self._traces())))
        elif not recorded_by_others and (imported := _importable_frameworks()):
            say(self._others.why_nothing() or f"nothing recorded: the program did not import {imported}")

    def _torch_imported(self) -> None:
        # A schedule that records from the first moment on holds the whole script anyway.
        self._start()
        self.counter = Counter(self.settings.unit, self._units_found, self._unit_ended, self._epoch_ended)
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
        """Ends a recording without steps or epochs that may be full; returns whether that is possible now."""
        if self._profiler is None or self._watch is None:
            return True
        # Behind a backward pass torch would switch the profiler on again, which it has found on.
        graph_task = getattr(importlib.import_module("torch")._C, "_current_graph_task_id", lambda: -1)
        if self._is_profiler_ours or graph_task() != -1:
            return False
        after_s = self._outcome.cut_after_s = self._watch.age_s()
        self._stop()
        say(
            f"stopped recording after {after_s:.1f} s without a step or an epoch: the trace may have reached "
            f"{self._outcome.option('max_bytes')}; the script continues, and recording restarts at its first step or "
            "epoch"
        )
        return True

    def _units_found(self) -> None:
        self._end_watch()
        assert self.counter is not None
        if self._outcome.trouble:
            return
        has_epochs = self.counter.is_in_pass()
        is_trial = self.settings.unit == "epochs" and not (has_epochs and self.settings.records(0))
        is_cut = self._outcome.cut_after_s is not None
        if not (is_trial or is_cut or self._mode is _Mode.SCRIPT):
            return
        self._mode = _Mode.TRIAL if is_trial else _Mode.UNITS
        if is_trial:
            self.counter.count_by("steps")
            # The step that is about to end was not recorded.
            self._is_behind_step = not has_epochs and self.settings.records(0)
        if is_cut:
            self._outcome.cut_after_s = None
            self._attempt(lambda: _remove(self._traces()))
        self._stop()
        self._start()

    def _unit_ended(self, samples: int | None) -> None:
        if self._is_behind_step:
            self._is_behind_step = False
            return
        if self._is_recording_unit():
            if self._mode is _Mode.TRIAL:
                self._outcome.trial_steps += 1
            else:
                self._outcome.units_recorded += 1
        self._units_ended += 1
        if self._mode is not _Mode.TRIAL:
            self._outcome.units_ended = self._units_ended
        if self._profiler is not None:
            self._attempt(lambda: self._profiler.step(samples))

    def _epoch_ended(self) -> None:
        """Switches to epochs as late as possible, but in time to measure one."""
        assert self.counter is not None
        skipped = self.settings.wait + self.settings.warmup
        if self._mode is _Mode.TRIAL:
            self._outcome.units_ended = self.counter.epochs
            if self.counter.epochs >= max(1, skipped - 1) and not self._outcome.trouble:
                self._end_trial(self.counter)

    def _end_trial(self, counter: Counter) -> None:
        self._stop()
        self._trial_traces = self._traces()
        self._mode = _Mode.UNITS
        self._units_ended = counter.epochs
        counter.count_by("epochs")
        self._start()

    def _is_recording_unit(self) -> bool:
        # The profiler may record a unit of the warm-up to learn its size, and may end early to keep to its budget.
        is_recording = self._profiler is not None and self._profiler.current_action.name.startswith("RECORD")
        return is_recording and self.settings.records(self._units_ended)

    def _stop_and_note_part(self) -> None:
        profiler, is_part = self._profiler, self._is_recording_unit() and self._mode is _Mode.UNITS
        self._stop()
        if is_part and profiler._recording.empty_mark is None:
            self._outcome.has_recorded_part = True

    def _give_way(self, prepare: Callable[[Any], None], profiler: Any) -> None:
        if self._profiler is not None and not self._is_profiler_ours:
            if self._mode is _Mode.SCRIPT:
                self._mode = _Mode.UNITS
            self._stop_and_note_part()
            self._outcome.trouble = "the script uses torch's profiler itself, and torch allows one at a time"
        prepare(profiler)

    def _start(self) -> None:
        self._profiler = self._attempt(self._started_profiler)

    def _stop(self) -> None:
        if self._profiler is not None:
            self._thrown_away.append(self._profiler)
            self._attempt(self._profiler.stop)
            self._profiler = None

    def _attempt(self, action: Callable[[], Any]) -> Any:
        # Whatever is wrong with the recording, the program that is watched goes on.
        self._is_profiler_ours = True
        try:
            return action()
        except Exception as error:
            self._outcome.trouble = self._outcome.trouble or f"the profiler failed with {type(error).__name__}: {error}"
            self._profiler = None
            return None
        finally:
            self._is_profiler_ours = False

    def _started_profiler(self) -> Any:
        from stepscope.torch import ProfilerAction, profile, schedule
        from stepscope.torch.handler import TraceWriter

        settings, mode = self.settings, self._mode
        if self._writer is None:
            self._writer = TraceWriter(str(self._folder_from_root), self._worker, is_failure_said=False)
        plan = schedule(wait=settings.wait, warmup=settings.warmup, active=settings.active, repeat=settings.repeat)
        profiler = profile(
            schedule=(lambda step: ProfilerAction.RECORD_AND_SAVE) if mode is _Mode.SCRIPT else plan,
            on_trace_ready=lambda profiler: self._save(profiler, mode),
            record_shapes=settings.record_shapes,
            profile_memory=settings.profile_memory,
            with_stack=settings.with_stack,
            with_flops=settings.with_flops,
            with_modules=settings.with_modules,
            max_bytes=settings.max_bytes,
        )
        profiler._embed(first_step=self._units_ended if mode is _Mode.UNITS else 0)
        profiler.start()
        return profiler

    def _save(self, profiler: Any, mode: _Mode) -> None:
        if mode is not self._mode:
            return
        if mode is _Mode.UNITS and self._trial_traces:
            if not self._outcome.units_recorded:
                return  # Whole steps say more than a part of an epoch.
            _remove(self._trial_traces)
            self._trial_traces, self._outcome.trial_steps = [], 0
        self._writer(profiler)

    def _traces(self) -> list[Path]:
        """Returns the traces of this program; the other ranks of a job write to the same folder."""
        folder = self._folder_from_root
        traces = folder.iterdir() if folder.is_dir() else []
        return [trace for trace in traces if trace.name.startswith(f"{self._worker}.")]


def _importable_frameworks() -> str:
    """Returns what a program could have imported to be recorded."""
    if is_installed("torch"):
        return "torch"
    return "TensorFlow or JAX" if OtherFrameworks.are_installed() else ""


def _remove(traces: list[Path]) -> None:
    for trace in traces:
        trace.unlink(missing_ok=True)
