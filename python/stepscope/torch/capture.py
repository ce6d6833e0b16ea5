"""`profile`: torch's own profiler with a capture budget, samples per step, and exports that always work."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerAction

from stepscope.torch import report
from stepscope.torch.averages import KeyAverages, with_old_names
from stepscope.saying import say
from stepscope.torch.budget import (
    GIB,
    LARGE_TRACE_BYTES,
    CaptureBudget,
    CaptureWarning,
    Prediction,
    Size,
    number_of_steps,
    plan_of,
)
from stepscope.torch.stacks import fill_missing_stacks, write_stacks
from stepscope.torch.trace_file import copy_trace, join_traces, measure_trace, write_whole
from stepscope.torch.untyped import TorchProfile

SAMPLES_KEY = "stepscope_samples_per_step"

_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


@dataclass
class _Recording:
    """The trace that is being recorded, or was recorded last."""

    started_s: float = field(default_factory=time.perf_counter)
    steps: int = 0
    samples: dict[int, int] = field(default_factory=dict)
    saved: Path | None = None
    size: Size | None = None
    earlier_part: Path | None = None
    earlier_profiler: Any = None
    is_blank: bool = False


class profile(TorchProfile):  # type: ignore[misc]
    """Drop-in for `torch.profiler.profile`: all its arguments and methods, and a capture budget.

    `max_bytes` (of plain JSON, default 1 GiB) and `max_events` bound all that this profiler records. The step before
    the first recorded one, a warm-up step as a rule, is recorded by itself and thrown away; from it follows how large
    a trace will be (`prediction`), and a `CaptureWarning` says if that is too much. When the next step would pass the
    cap, the trace is finished with what there is, `on_trace_ready` is called, and the program goes on unrecorded.
    If nothing comes before the first recorded step, or the schedule was not made by `schedule()`, there is no
    prediction, and the size of a step follows from what was recorded first. Without any call of `step()` the cap
    cannot apply: the profiler cannot be asked how much it holds.

    >>> from stepscope.torch import profile, schedule, trace_handler
    >>> def train(loader):
    ...     plan = schedule(wait=1, warmup=1, active=3)
    ...     with profile(schedule=plan, on_trace_ready=trace_handler("runs/profiler"), with_stack=True) as prof:
    ...         for batch in loader:
    ...             train_step(batch)
    ...             prof.step(samples=len(batch))
    """

    def __init__(self, *, max_bytes: int = GIB, max_events: int | None = None, **torch_arguments: Any) -> None:
        self._budget = CaptureBudget(max_bytes, max_events)
        self._plan = plan_of(torch_arguments.get("schedule"))
        self._prediction: Prediction | None = None
        self._is_recording = False
        self._steps_that_fit = 0.0
        self._is_measuring = False
        self._is_ended = False
        self._recording = _Recording()
        self._metadata: dict[str, str] = {}
        self._step_started_s = self._step_s = 0.0
        self._written: list[Path] = []
        self._written_steps = 0
        self._scratch_folder: Path | None = None
        self._has_cap = True
        self.profiler: Any
        if torch_arguments.get("activities") is not None:
            # New versions of torch reject an activity that is named twice, which old ones took.
            activities = list(torch_arguments["activities"])
            torch_arguments["activities"] = [one for at, one in enumerate(activities) if one not in activities[:at]]
        super().__init__(**torch_arguments)

    @property
    def prediction(self) -> Prediction | None:
        """What one trace will hold, as foretold from the measured step; None if none was measured."""
        return self._prediction

    def start(self) -> None:
        """Starts the schedule, or the recording if there is none."""
        super().start()
        self._step_started_s = time.perf_counter()

    def stop(self) -> None:
        """Ends the recording and says what was written."""
        super().stop()
        if self._written:
            overhead = self._prediction.overhead if self._prediction else None
            say(report.describe_capture(self._written, self._written_steps, overhead))
            self._written, self._written_steps = [], 0

    def step(self, samples: int | None = None) -> None:
        """Says that a step has ended, and how many samples it worked on."""
        self._step_s = time.perf_counter() - self._step_started_s
        if self._is_recording:
            self._recording.steps += 1
            if samples is not None:
                self._recording.samples[self.step_num] = samples
        elif self.step_num > 0:
            # The first step of a program sets things up, and says nothing of the others.
            self._budget.note_unrecorded_step(self._step_s)
        super().step()
        self._step_started_s = time.perf_counter()

    def key_averages(self, *args: Any, **options: Any) -> KeyAverages:
        """Torch's averages (`group_by_input_shape`, `group_by_stack_n`, …), whose rows know old and new names."""
        self._join_events()
        stack_depth = options.get("group_by_stack_n", args[1] if len(args) > 1 else 0)
        if stack_depth and self.with_stack:
            fill_missing_stacks(super().events())
        return with_old_names(super().key_averages(*args, **options))

    def events(self) -> Any:
        """Torch's list of all recorded events."""
        self._join_events()
        return super().events()

    def export_chrome_trace(self, path: str, *args: Any, **options: Any) -> None:
        """Writes the trace as JSON, compressed if the name ends in `.gz`; may be called again for the same trace."""
        saved = self._recording.saved
        if saved is None or any(args) or any(options.values()):
            write_whole(Path(path), lambda partial: self._save(partial, *args, **options))
            self._recording.saved = Path(path).absolute()
        elif not saved.exists():
            raise FileNotFoundError(f"torch writes a trace only once, and it is no longer at {saved}")
        else:
            write_whole(Path(path), lambda partial: copy_trace(saved, partial))

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes the Python stacks with their time in microseconds, one a line, as flame-graph tools read them."""
        if not self.with_stack:
            raise ValueError("no stacks were recorded; pass with_stack=True to profile()")
        write_stacks(self.events(), Path(path), metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to the trace."""
        self.add_metadata_json(key, json.dumps(value, ensure_ascii=False))

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds a JSON value to the trace."""
        # Kineto writes a slash for every backslash, so that an escaped quote would end the text and break the trace.
        value = value.replace("\\\\", "/").replace('\\"', "'")
        self._metadata[key] = value
        super().add_metadata_json(key, value)

    def prepare_trace(self) -> None:
        """Called by torch before a recording."""
        if self._recording.is_blank:
            # Torch would warn that the events of a former cycle get lost.
            self.profiler = None
        self._recording = _Recording()
        super().prepare_trace()

    def start_trace(self) -> None:
        """Called by torch when a recording begins."""
        if self._is_measuring:
            with self._without_observer():
                super().start_trace()
        else:
            super().start_trace()
            self._repeat_metadata()
        self._is_recording = True
        self._steps_that_fit = self._budget.steps_that_fit()
        self._recording.started_s = time.perf_counter()

    def stop_trace(self) -> None:
        """Called by torch when a recording ends."""
        if self._recording.samples:
            self.add_metadata_json(SAMPLES_KEY, json.dumps(self._recording.samples))
        self._is_recording = False
        self._steps_that_fit = 0
        super().stop_trace()
        self._metadata.clear()

    def _trace_ready(self) -> None:
        super()._trace_ready()
        recording = self._recording
        self._budget.finish_trace(recording.steps, recording.size)
        if recording.saved is not None:
            self._written.append(recording.saved)
            self._written_steps += recording.steps

    def _transit_action(self, previous: Any, following: Any) -> None:
        # Every change between recording and not recording passes here, in all versions of torch; a `following` of
        # None is the end. So this is the one place where the budget has a say.
        goes_on = previous is ProfilerAction.RECORD and following in _RECORDING
        if goes_on and self._recording.steps < self._steps_that_fit:
            # Torch does nothing here either, and with stacks all that is done between two steps gets recorded.
            return
        if self._is_measuring:
            self._finish_measuring(is_whole_step=following is not None)
            previous = ProfilerAction.NONE
        if goes_on and self._is_size_unknown_for_too_long():
            self._measure_first_part()
        if following is not None:
            following = self.current_action = self._allowed_action(following)
        if self._is_ended and self._is_recording:
            previous = ProfilerAction.RECORD_AND_SAVE
        super()._transit_action(previous, following)

    def _allowed_action(self, following: Any) -> Any:
        if self._is_ended:
            return ProfilerAction.NONE
        is_to_be_measured = self.step_num == self._plan.measured_step and self._budget.per_step is None
        if is_to_be_measured and self._can_save_aside():
            self._is_measuring = True
            return ProfilerAction.RECORD_AND_SAVE
        held_steps = self._recording.steps if self._is_recording else 0
        if following is ProfilerAction.NONE or self._budget.has_room_for(held_steps + 1):
            return following
        self._is_ended = True
        say(
            f"stopped recording after {number_of_steps(self._written_steps + held_steps)}: the next step would pass "
            f"{self._budget.cap_in_words()}; the program goes on unrecorded"
        )
        return ProfilerAction.NONE

    def _finish_measuring(self, is_whole_step: bool) -> None:
        """Throws the measured step away after its size was taken, and warns if what follows will be too much."""
        self._is_measuring = self._is_recording = False
        with self._without_observer():
            super().stop_trace()
        measured = self._save_aside("measured.json")
        size, empty_size = measure_trace(measured), self._record_nothing()
        measured.unlink()
        if not is_whole_step:
            return
        self._budget.measure(size, empty_size, steps=1)
        self._prediction = prediction = self._budget.predict(self._plan.steps_per_trace or 1, self._step_s)
        if self._budget.is_exceeded_by(prediction) or prediction.size_bytes > LARGE_TRACE_BYTES:
            message = (
                f"{prediction}; recording stops at {self._budget.cap_in_words()}. For less, record fewer steps "
                "(active=…), or leave out with_stack, record_shapes or profile_memory"
            )
            warnings.warn(message, CaptureWarning, stacklevel=5)

    def _is_size_unknown_for_too_long(self) -> bool:
        recorded_s = time.perf_counter() - self._recording.started_s
        is_unknown = self._is_recording and self._budget.per_step is None
        return is_unknown and self._budget.could_be_full_after(recorded_s) and self._can_save_aside()

    def _measure_first_part(self) -> None:
        """Saves what was recorded so far to learn its size, and goes on recording; exports join the two parts."""
        with self._without_observer():
            super().stop_trace()
            recording, first_profiler = self._recording, self.profiler
            recording.earlier_part = self._save_aside("earlier.json")
            self._budget.measure(measure_trace(recording.earlier_part), self._record_nothing(), recording.steps)
            self._recording, self.profiler = recording, None
            if getattr(self, "acc_events", False):
                self.profiler = first_profiler
            else:
                recording.earlier_profiler = first_profiler
            super().prepare_trace()
            super().start_trace()
        self._steps_that_fit = self._budget.steps_that_fit()
        self._repeat_metadata()

    def _record_nothing(self) -> Size:
        """Leaves an empty trace as the current one and returns its size, which every trace has on top of its steps."""
        self.profiler = None
        with self._without_observer():
            super().prepare_trace()
            super().start_trace()
            super().stop_trace()
        blank = self._save_aside("blank.json")
        self._recording = _Recording(saved=blank, is_blank=True)
        return measure_trace(blank)

    def _can_save_aside(self) -> bool:
        if self._scratch_folder is None and self._has_cap:
            try:
                self._scratch_folder = Path(tempfile.mkdtemp(prefix="stepscope-"))
                weakref.finalize(self, shutil.rmtree, self._scratch_folder, ignore_errors=True)
            except OSError as error:
                self._has_cap = False
                warnings.warn(f"no cap applies, as no step can be measured: {error}", CaptureWarning, stacklevel=6)
        return self._scratch_folder is not None

    def _save_aside(self, name: str) -> Path:
        assert self._scratch_folder is not None
        super().export_chrome_trace(str(self._scratch_folder / name))
        return self._scratch_folder / name

    def _save(self, partial: Path, *args: Any, **options: Any) -> None:
        """Writes the trace as torch does, and keeps its plain size."""
        plain = partial.with_suffix(".plain")
        later = partial.with_suffix(".later") if self._recording.earlier_part else plain
        try:
            super().export_chrome_trace(str(later), *args, **options)
            if self._recording.earlier_part:
                join_traces(self._recording.earlier_part, later, plain)
            self._recording.size = measure_trace(plain)
            if partial.suffix == ".gz":
                copy_trace(plain, partial)
            else:
                plain.replace(partial)
        finally:
            for leftover in (plain, later):
                leftover.unlink(missing_ok=True)

    def _join_events(self) -> None:
        if self._recording.earlier_profiler is not None and not self._is_recording:
            self.profiler.function_events[:0] = self._recording.earlier_profiler.function_events
            self._recording.earlier_profiler = None

    def _repeat_metadata(self) -> None:
        """Adds again what a recording that was cut off or thrown away has taken with it."""
        for key, value in list(self._metadata.items()):
            super().add_metadata_json(key, value)

    @contextmanager
    def _without_observer(self) -> Iterator[None]:
        """An execution trace must hold the steps the user asked for, and no others."""
        observer = getattr(self, "execution_trace_observer", None)
        self.execution_trace_observer = None
        try:
            yield
        finally:
            self.execution_trace_observer = observer
