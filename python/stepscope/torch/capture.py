"""`profile`: torch's profiler with a capture budget, samples per step, and repeatable exports."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerAction

from stepscope.captured import number_of_steps
from stepscope.saying import say
from stepscope.termination import before_end
from stepscope.torch import report
from stepscope.torch.averages import KeyAverages, with_old_names
from stepscope.torch.budget import GIB, CaptureBudget, Prediction, plan_of
from stepscope.torch.budgeted import INCOMPLETE_KEY, BudgetedProfile
from stepscope.torch.stacks import fill_missing_stacks, write_stacks
from stepscope.torch.trace_file import copy_trace, write_whole
from stepscope.values import optional, whole_number
from stepscope.watching import Watch

# What is shorter, between the last call of `step()` and the end, is not a part of a step.
_LEAST_PART_S = 0.001


class profile(BudgetedProfile):
    """Records a trace as `torch.profiler.profile` does, within a capture budget.

    A drop-in replacement with all arguments and methods of torch, and these additions.

    - **Budget.** `max_bytes` and `max_events` limit all that this profiler records. It measures the step before the
      first recorded one and discards it. `prediction` holds the expected size of a trace; a `CaptureWarning` reports
      one that is too large. When the next step would exceed the limit, the profiler calls `on_trace_ready` and the
      program continues unrecorded. Without a step before the first recorded one, or with a custom schedule, it
      measures the first recorded part. Without any call of `step()`, `max_bytes` ends the recording once the process
      has grown by the size of such a trace, checked four times per second; `max_events` does not apply.
    - **Steps.** Without a schedule, every call of `step()` ends a step. What follows the last call is an incomplete
      step, and means do not count it.
    - **Exit.** SIGTERM, SIGHUP and the exit of the program finish a recording. A signal handler of the program stays
      in charge: it must stop the profiler itself.

    Args:
        activities: What to record, such as `[ProfilerActivity.CPU]`; all available activities by default.
        schedule: When to record, as `schedule()` returns it; by default, recording starts at once.
        on_trace_ready: Called with this profiler when a trace is complete, such as `trace_handler("runs/profiler")`.
        record_shapes: Record the shapes of operator inputs.
        profile_memory: Record memory allocations.
        with_stack: Record the Python stack of each operator.
        with_flops: Let torch estimate the FLOPs of operators.
        with_modules: Record the module hierarchy of TorchScript models.
        experimental_config: Torch's settings for Kineto.
        execution_trace_observer: Observer to start and stop with the recording.
        acc_events: Keep the events of all cycles for `key_averages()`.
        custom_trace_id_callback: Returns the id of each trace.
        post_processing_timeout_s: Seconds after which torch stops parsing events.
        max_bytes: Size limit, as plain JSON: a number of bytes, or a size such as `"200MB"` (200 × 10^6 bytes) or
            `"200MiB"` (200 × 2^20 bytes).
        max_events: Limit on the entries of all event lists.

    Raises:
        ProfilerBusyError: Another profiler is recording when this one starts.

    >>> from stepscope.torch import profile, schedule, trace_handler
    >>> def train(loader):
    ...     plan = schedule(wait=1, warmup=1, active=3)
    ...     with profile(schedule=plan, on_trace_ready=trace_handler("runs/profiler"), with_stack=True) as prof:
    ...         for batch in loader:
    ...             train_step(batch)
    ...             prof.step(samples=len(batch))
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        max_bytes: int | str = GIB,
        max_events: int | None = None,
    ) -> None:
        self._first_step = 0
        self._step_started_s = 0.0
        self._watch: Watch | None = None
        self._take_back: Callable[[], None] = _nothing
        if activities is not None:
            # New versions of torch reject an activity that is named twice, which old ones took.
            named = list(activities)
            activities = [one for at, one in enumerate(named) if one not in named[:at]]
        # Versions of torch differ in what they know: what is left at its default is not passed on.
        given: dict[str, Any] = {
            "activities": activities,
            "schedule": schedule,
            "on_trace_ready": on_trace_ready,
            "experimental_config": experimental_config,
            "execution_trace_observer": execution_trace_observer,
            "custom_trace_id_callback": custom_trace_id_callback,
            "post_processing_timeout_s": post_processing_timeout_s,
            "record_shapes": record_shapes or None,
            "profile_memory": profile_memory or None,
            "with_stack": with_stack or None,
            "with_flops": with_flops or None,
            "with_modules": with_modules or None,
            "acc_events": acc_events or None,
        }
        torch_arguments = {name: value for name, value in given.items() if value is not None}
        budget = CaptureBudget(max_bytes, max_events)
        super().__init__(budget, plan_of(schedule), schedule is not None, torch_arguments)

    @property
    def prediction(self) -> Prediction | None:
        """Predicted size of one trace, from the measured step; None if none was measured."""
        return self._prediction

    @property
    def overhead(self) -> float | None:
        """Extra time of recorded steps, as a share of unrecorded ones.

        None if there were fewer than three steps of either kind, or if the difference is within their noise.
        """
        return self._budget.overhead()

    def _embed(self, *, first_step: int) -> None:
        """Leaves the last message and the exit of the program to the caller, and counts steps from a number on."""
        self._is_embedded = True
        self.step_num = first_step
        action: Any = self.schedule(first_step)
        self.current_action = self._prev_schedule_action = action

    def start(self) -> None:
        """Starts the schedule, or the recording if there is no schedule."""
        self._first_step = self.step_num
        self.record_steps = self._has_schedule
        self._is_starting = True
        try:
            super().start()
        finally:
            self._is_starting = False
        self._step_started_s = time.perf_counter()
        if not self._is_embedded:
            self._take_back = before_end(self._finish_early)
            self._start_watch()

    def stop(self) -> None:
        """Ends the recording and prints what was written, or why nothing was."""
        self._end_watch()
        if self._is_recording and not self._is_measuring and self.step_num > self._first_step:
            self._note_part(time.perf_counter() - self._step_started_s)
        try:
            super().stop()
        except (KeyboardInterrupt, SystemExit):
            self._say_interrupted()
            raise
        finally:
            self._take_back()
        if self._is_embedded:
            return
        if self._written:
            say(report.describe_capture(self._written, self._written_steps, self.overhead))
            self._written, self._written_steps = [], 0
        elif not self._has_recorded and not self._is_ended:
            say(f"nothing recorded: {self._why_nothing()}")

    def step(self, samples: int | None = None) -> None:
        """Ends a step. Call it after each iteration.

        Args:
            samples: Samples that the step worked on, for the throughput.
        """
        samples = optional(whole_number, "samples", samples)
        self._end_watch()
        self._step_s = time.perf_counter() - self._step_started_s
        if self._is_recording:
            self._recording.steps += 1
            if samples is not None:
                self._recording.samples[self.step_num] = samples
            if not self._is_measuring:
                self._budget.note_step(self._step_s, is_recorded=True)
            # Torch marks steps only with a schedule.
            self.record_steps = True
        elif self.step_num > 0:
            # The first step of a program sets things up, and says nothing of the others.
            self._budget.note_step(self._step_s, is_recorded=False)
        super().step()
        self._step_started_s = time.perf_counter()

    def key_averages(self, *args: Any, **options: Any) -> KeyAverages:
        """Returns torch's averages, whose rows have old and new column names.

        Takes torch's arguments, such as `group_by_input_shape` and `group_by_stack_n`.
        """
        self._join_events()
        stack_depth = options.get("group_by_stack_n", args[1] if len(args) > 1 else 0)
        if stack_depth and self.with_stack:
            fill_missing_stacks(self._torch_events())
        return with_old_names(super().key_averages(*args, **options))

    def events(self) -> Any:
        """Returns torch's list of all recorded events."""
        self._join_events()
        return self._torch_events()

    def export_chrome_trace(self, path: str, *args: Any, **options: Any) -> None:
        """Writes the trace as JSON. May be called again for the same trace.

        Args:
            path: File to write; compressed if its name ends in `.gz`.
            *args: Passed on to torch.
            **options: Passed on to torch.
        """
        saved = self._recording.saved
        if saved is None or any(args) or any(options.values()):
            write_whole(Path(path), lambda partial: self._save(partial, *args, **options))
            self._recording.saved = Path(path).absolute()
        elif not saved.exists():
            raise FileNotFoundError(f"torch writes a trace only once, and its file is gone: {saved}")
        else:
            write_whole(Path(path), lambda partial: copy_trace(saved, partial))

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes Python stacks with their time in microseconds, one per line, as flame graph tools read them.

        Args:
            path: File to write.
            metric: Time to write, such as `"self_cpu_time_total"` or `"self_device_time_total"`.

        Raises:
            ValueError: The trace was recorded without `with_stack=True`, or there is no such metric.
        """
        if not self.with_stack:
            raise ValueError("no stacks were recorded; pass with_stack=True to profile()")
        write_stacks(self.events(), Path(path), metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a string to the metadata of the trace.

        Args:
            key: Name of the entry.
            value: The string.
        """
        self.add_metadata_json(key, json.dumps(value, ensure_ascii=False))

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds a JSON value to the metadata of the trace.

        Args:
            key: Name of the entry.
            value: The value, as JSON.
        """
        # Kineto writes a slash for every backslash, so that an escaped quote would end the text and break the trace.
        value = value.replace("\\\\", "/").replace('\\"', "'")
        self._metadata[key] = value
        super().add_metadata_json(key, value)

    def _torch_events(self) -> Any:
        events: Callable[[], Any] = super().events
        return events()

    def _join_events(self) -> None:
        if self._recording.earlier_profiler is not None and not self._is_recording:
            self.profiler.function_events[:0] = self._recording.earlier_profiler.function_events
            self._recording.earlier_profiler = None

    def _note_part(self, part_s: float) -> None:
        """Marks what follows the last step in a trace as incomplete, or as empty."""
        if part_s < _LEAST_PART_S:
            self._recording.empty_mark = self.step_num
        else:
            self.add_metadata_json(INCOMPLETE_KEY, str(self.step_num))

    def _why_nothing(self) -> str:
        if self.step_num == 0:
            return "step() was not called; call prof.step() after each iteration"
        ended = f"the program ended after {number_of_steps(self.step_num)}"
        if self._plan.first_recorded is None:
            return f"{ended}, and the schedule recorded none of them"
        return f"{ended}, and the schedule skips {self._plan.first_recorded:,}; lower wait, warmup or skip_first"

    def _finish_early(self, why: str) -> None:
        """Finishes the recording at a signal or at the exit of the program, if the profiler was not stopped."""
        self._end_watch()
        is_recorded = self._is_recording and not self._is_measuring
        self.stop()
        if is_recorded and self.on_trace_ready is None:
            say(f"no trace was written ({why}): pass on_trace_ready=trace_handler(\"runs/profiler\") to profile()")

    def _start_watch(self) -> None:
        """Watches the cap of a recording without steps; only the main thread can end it."""
        if self._is_recording and threading.current_thread() is threading.main_thread():
            self._watch = Watch(self._budget.max_bytes, self._cut)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def _cut(self) -> bool:
        """Ends a recording without steps that may be full; not in a backward pass, after which torch restores it."""
        if getattr(torch._C, "_current_graph_task_id", lambda: -1)() != -1:
            return False
        if self._watch is not None and self._is_recording:
            after_s = self._watch.age_s()
            if self.step_rec_fn is not None:
                self.step_rec_fn.__exit__(None, None, None)
                self.step_rec_fn = None
            self.stop_trace()
            self._is_cut = self._is_ended = True
            say(
                f"stopped recording after {after_s:.1f} s without a call of step(): the trace may have reached "
                f"{self._budget.cap_in_words()}; the program continues unrecorded"
            )
        return True

def _nothing() -> None:
    pass
