"""Torch's profiler with a budget: starts and ends recordings, and writes them to disk."""

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

import torch
from torch.profiler import ProfilerAction

from stepscope.captured import number_of_steps
from stepscope.job import run_id
from stepscope.saying import say
from stepscope.termination import postponed
from stepscope.torch import exclusive, open_regions
from stepscope.torch.budget import (
    LARGE_TRACE_BYTES,
    CaptureBudget,
    CaptureWarning,
    Plan,
    Prediction,
    Size,
)
from stepscope.torch.handler import TraceWriter
from stepscope.torch.step_marks import add_first_mark, blank_mark, recording_start_us
from stepscope.torch.trace_file import copy_trace, join_traces, measure_trace, write_whole
from stepscope.torch.untyped import TorchProfile

# Keys of the header of a trace that ingest knows.
SAMPLES_KEY = "stepscope_samples_per_step"
INCOMPLETE_KEY = "stepscope_incomplete_step"
RUN_KEY = "stepscope_run"

_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


@dataclass
class Recording:
    """The trace that is being recorded, or was recorded last."""

    started_s: float = field(default_factory=time.perf_counter)
    steps: int = 0
    samples: dict[int, int] = field(default_factory=dict)
    first_step: int = 0
    # The number of the last mark, if nothing follows the last step.
    empty_mark: int | None = None
    saved: Path | None = None
    size: Size | None = None
    earlier_part: Path | None = None
    earlier_start_us: str | None = None
    earlier_profiler: Any = None
    is_blank: bool = False
    is_handed_out: bool = False
    is_interrupted: bool = False


class BudgetedProfile(TorchProfile):
    """The methods that torch calls while a profiler follows its schedule."""

    def __init__(self, budget: CaptureBudget, plan: Plan, has_schedule: bool, torch_arguments: dict[str, Any]) -> None:
        self._budget = budget
        self._plan = plan
        self._has_schedule = has_schedule
        self._prediction: Prediction | None = None
        self._is_recording = False
        self._has_recorded = False
        self._is_measuring = False
        self._is_ended = False
        self._is_starting = False
        self._is_busy_said = False
        self._is_cut = False
        # Whether another part of Stepscope runs this profiler, and speaks and watches for it.
        self._is_embedded = False
        self._steps_that_fit = 0.0
        self._step_s = 0.0
        self._recording = Recording()
        self._metadata: dict[str, str] = {}
        self._written: list[Path] = []
        self._written_steps = 0
        self._scratch_folder: Path | None = None
        self._has_cap = True
        self.profiler: Any
        super().__init__(**torch_arguments)

    def prepare_trace(self) -> None:
        """Prepares a recording; torch calls this."""
        if self._recording.is_blank:
            # Torch would warn that the events of a former cycle get lost.
            self.profiler = None
        self._recording = Recording(first_step=self.step_num)
        with exclusive.preparing_ours(gives_way=self._is_embedded):
            super().prepare_trace()

    def start_trace(self) -> None:
        """Starts a recording; torch calls this."""
        open_regions.watch()
        if self._is_measuring:
            with self._without_observer():
                super().start_trace()
        else:
            super().start_trace()
            if run := run_id(_processes()):
                self._metadata[RUN_KEY] = json.dumps(run)
            self._repeat_metadata()
        self._is_recording = True
        self._steps_that_fit = self._budget.steps_that_fit()
        self._recording.started_s = time.perf_counter()

    def stop_trace(self) -> None:
        """Ends a recording; torch calls this."""
        if not self._is_recording:
            return  # It was ended before, and what came then has failed.
        if self._recording.samples:
            self.add_metadata_json(SAMPLES_KEY, json.dumps(self._recording.samples))
        self._is_recording = False
        self._steps_that_fit = 0
        open_regions.end_all()
        super().stop_trace()
        self._metadata.clear()

    def _trace_ready(self) -> None:
        recording = self._recording
        if recording.is_handed_out:
            return
        recording.is_handed_out = self._has_recorded = True
        try:
            super()._trace_ready()
        except (KeyboardInterrupt, SystemExit):
            self._say_interrupted()
            raise
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
        with postponed():
            self._change_action(previous, following, goes_on)

    def _change_action(self, previous: Any, following: Any, goes_on: bool) -> None:
        if self._is_cut:
            self._is_cut = False
            self._trace_ready()
            previous = ProfilerAction.NONE
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
        if self._is_ended or self._is_busy_elsewhere(following):
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
            f"stopped recording after {number_of_steps(self._written_steps + held_steps)}: the next step would exceed "
            f"{self._budget.cap_in_words()}; the program continues unrecorded"
        )
        return ProfilerAction.NONE

    def _finish_measuring(self, is_whole_step: bool) -> None:
        """Measures and discards the recorded step, and warns if the trace will be too large."""
        self._is_measuring = self._is_recording = False
        open_regions.end_all()
        with self._without_observer():
            super().stop_trace()
        try:
            measured = self._save_aside("measured.json")
            size, empty_size = measure_trace(measured), self._record_nothing()
            measured.unlink()
        except OSError as error:
            self._give_up_cap(error)
            return
        if not is_whole_step:
            return
        self._budget.measure(size, empty_size, steps=1)
        self._prediction = prediction = self._budget.predict(self._plan.steps_per_trace or 1, self._step_s)
        if self._budget.is_exceeded_by(prediction) or prediction.size_bytes > LARGE_TRACE_BYTES:
            message = (
                f"{prediction}; recording stops at {self._budget.cap_in_words()}. To record less, lower active=, "
                "or turn off with_stack, record_shapes or profile_memory"
            )
            warnings.warn(message, CaptureWarning, stacklevel=6)
        if isinstance(self.on_trace_ready, TraceWriter):
            self.on_trace_ready.expect(prediction.size_bytes)

    def _is_size_unknown_for_too_long(self) -> bool:
        recorded_s = time.perf_counter() - self._recording.started_s
        is_unknown = self._is_recording and self._budget.per_step is None
        return is_unknown and self._budget.could_be_full_after(recorded_s) and self._can_save_aside()

    def _measure_first_part(self) -> None:
        """Saves what was recorded so far to measure it, and continues recording; exports join the two parts."""
        open_regions.end_all()
        with self._without_observer():
            super().stop_trace()
            recording, first_profiler = self._recording, self.profiler
            try:
                recording.earlier_part = self._save_aside("earlier.json")
                recording.earlier_start_us = recording_start_us(recording.earlier_part)
                self._budget.measure(measure_trace(recording.earlier_part), self._record_nothing(), recording.steps)
            except OSError as error:
                # Torch gives a trace out once.
                say(f"the first {number_of_steps(recording.steps)} are lost: {error.strerror or error}")
                recording = Recording(first_step=self.step_num)
                self._give_up_cap(error)
            self._recording, self.profiler = recording, None
            if getattr(self, "acc_events", False):
                self.profiler = first_profiler
            else:
                recording.earlier_profiler = first_profiler
            with exclusive.preparing_ours(gives_way=self._is_embedded):
                super().prepare_trace()
            super().start_trace()
        self._steps_that_fit = self._budget.steps_that_fit()
        self._repeat_metadata()

    def _record_nothing(self) -> Size:
        """Records an empty trace and returns its size, which every trace has in addition to its steps."""
        self.profiler = None
        with self._without_observer():
            with exclusive.preparing_ours(gives_way=self._is_embedded):
                super().prepare_trace()
            super().start_trace()
            super().stop_trace()
        blank = self._save_aside("blank.json")
        self._recording = Recording(saved=blank, is_blank=True)
        return measure_trace(blank)

    def _can_save_aside(self) -> bool:
        if self._scratch_folder is None and self._has_cap:
            try:
                self._scratch_folder = Path(tempfile.mkdtemp(prefix="stepscope-"))
                weakref.finalize(self, shutil.rmtree, self._scratch_folder, ignore_errors=True)
            except OSError as error:
                self._give_up_cap(error)
        return self._scratch_folder is not None and self._has_cap

    def _give_up_cap(self, error: OSError) -> None:
        self._has_cap = False
        say(f"no cap applies, as no step can be measured: {error.strerror or error}; set TMPDIR to a folder with space")

    def _save_aside(self, name: str) -> Path:
        assert self._scratch_folder is not None
        path = self._scratch_folder / name
        write_whole(path, lambda partial: super(BudgetedProfile, self).export_chrome_trace(str(partial)))
        return path

    def _save(self, partial: Path, *args: Any, **options: Any) -> None:
        """Writes the trace as torch does, and notes its uncompressed size."""
        plain = partial.with_suffix(".plain")
        later = partial.with_suffix(".later") if self._recording.earlier_part else plain
        try:
            super().export_chrome_trace(str(later), *args, **options)
            if not later.exists():
                return  # The caller finds out why.
            start_us = self._recording.earlier_start_us or recording_start_us(later)
            if self._recording.earlier_part:
                join_traces(self._recording.earlier_part, later, plain)
            self._complete_marks(plain, start_us)
            self._recording.size = measure_trace(plain)
            if partial.suffix == ".gz":
                copy_trace(plain, partial)
            else:
                plain.replace(partial)
        finally:
            for leftover in (plain, later, plain.with_name(f"{plain.name}.tmp"), later.with_name(f"{later.name}.tmp")):
                leftover.unlink(missing_ok=True)

    def _complete_marks(self, trace: Path, start_us: str | None) -> None:
        recording = self._recording
        if recording.steps and not self._has_schedule:
            add_first_mark(trace, recording.first_step, start_us)
        if recording.empty_mark is not None:
            blank_mark(trace, recording.empty_mark)

    def _repeat_metadata(self) -> None:
        """Adds metadata again that was lost with an ended or discarded recording."""
        for key, value in list(self._metadata.items()):
            super().add_metadata_json(key, value)

    def _is_busy_elsewhere(self, following: Any) -> bool:
        """Returns whether another profiler holds torch's session."""
        if self._is_recording or following is ProfilerAction.NONE:
            return False
        other = exclusive.holder(besides=self.profiler)
        if other is None:
            return False
        if self._is_starting:
            raise exclusive.refuse(other)
        if not self._is_busy_said:
            # In the middle of a loop it is too late to refuse.
            self._is_busy_said = True
            say(f"not recording: another profiler is already recording: {other[0]}, {other[1]}")
        return True

    def _say_interrupted(self) -> None:
        recording = self._recording
        is_known = recording.saved is not None or recording.is_interrupted or self.on_trace_ready is None
        recording.is_interrupted = True
        if not is_known and not self._is_embedded:
            say("no trace was written: interrupted before it was complete")

    @contextmanager
    def _without_observer(self) -> Iterator[None]:
        """Pauses the execution trace observer: its trace must hold only the steps that the user asked for."""
        observer = getattr(self, "execution_trace_observer", None)
        self.execution_trace_observer = None
        try:
            yield
        finally:
            self.execution_trace_observer = observer


def _processes() -> int:
    """Returns the number of processes of the job, as far as torch knows."""
    distributed = torch.distributed
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1
