"""Limits a capture: predicts the size of a trace from one step, and ends the recording at the cap."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from stepscope.captured import number_of_steps, readable_size
from stepscope.step_times import StepTimes
from stepscope.values import optional, size_in_bytes, whole_number

GIB = 1 << 30
LARGE_TRACE_BYTES = 500_000_000

# No loop fills a trace faster than this, so a recording that is younger than what it takes needs no look at its size.
FASTEST_BYTES_PER_S = 1e9
FASTEST_EVENTS_PER_S = 4e6

# A schedule is asked for this many steps ahead: who waits longer gets no prediction, who records longer one of so many.
STEPS_LOOKED_AHEAD = 100_000


class CaptureWarning(UserWarning):
    """Warns that a trace will be very large, or does not hold what was asked for."""


class Size(NamedTuple):
    """The size of a trace: bytes of plain JSON, and entries of its event list."""

    size_bytes: float
    events: float

    def plus(self, other: Size) -> Size:
        """Returns the size of both together."""
        return Size(self.size_bytes + other.size_bytes, self.events + other.events)

    def minus(self, other: Size) -> Size:
        """Returns the size without the other, never less than 0."""
        return Size(max(self.size_bytes - other.size_bytes, 0), max(self.events - other.events, 0))

    def times(self, factor: float) -> Size:
        """Returns the size times a factor."""
        return Size(self.size_bytes * factor, self.events * factor)


NOTHING = Size(0, 0)


class Plan(NamedTuple):
    """What a schedule will do: the step before the first recorded one, and the number of steps per trace."""

    measured_step: int | None
    steps_per_trace: int | None

    @property
    def first_recorded(self) -> int | None:
        """First recorded step, if it is not the very first one."""
        return None if self.measured_step is None else self.measured_step + 1


def plan_of(schedule: Callable[[int], Any] | None) -> Plan:
    """Reads the plan from a schedule made by `torch.profiler.schedule`.

    Any other callable may depend on when it is called, so it is not called ahead of time and has no plan.
    """
    if schedule is None or not (getattr(schedule, "__module__", None) or "").startswith("torch.profiler"):
        return Plan(None, None)
    first_recorded: int | None = None
    for step in range(STEPS_LOOKED_AHEAD):
        action = schedule(step).name
        if first_recorded is None and action in ("RECORD", "RECORD_AND_SAVE"):
            first_recorded = step
        if action == "RECORD_AND_SAVE":
            break
    if first_recorded is None:
        return Plan(None, None)
    return Plan(first_recorded - 1 if first_recorded > 0 else None, step - first_recorded + 1)


@dataclass(frozen=True)
class Prediction:
    """Holds the predicted size of one trace of the schedule, from one measured step."""

    size_bytes: int
    """Size of the trace as plain JSON."""
    events: int
    """Entries of the trace's event list."""
    steps: int
    """Steps that the trace will hold."""
    overhead: float | None
    """Extra time of the measured step, as a share of an unrecorded one; None if none came before it.

    One step may be slow for other reasons: `profile.overhead` compares all recorded steps and their noise.
    """

    def __str__(self) -> str:
        size = readable_size(self.size_bytes)
        return f"{number_of_steps(self.steps)} will take about {size} and {self.events:,} events"


class CaptureBudget:
    """Counts what was recorded, and decides whether another step fits under the cap.

    The profiler does not report how much it holds while it records. So every step counts as much as a measured one,
    and the known size of finished traces corrects that.
    """

    def __init__(self, max_bytes: int | str, max_events: int | None) -> None:
        self.max_bytes = size_in_bytes("max_bytes", max_bytes)
        self.max_events: int | None = optional(whole_number, "max_events", max_events, least=1)
        self.per_step: Size | None = None
        self._empty_trace = NOTHING
        self._finished = NOTHING
        self._step_times = StepTimes()

    def note_step(self, duration_s: float, *, is_recorded: bool) -> None:
        """Remembers how long a step took."""
        self._step_times.note(duration_s, is_recorded=is_recorded)

    def overhead(self) -> float | None:
        """Returns the extra time of recorded steps, as a share of unrecorded ones; None if it is within their noise."""
        return self._step_times.overhead()

    def measure(self, trace: Size, empty_trace: Size, steps: int) -> None:
        """Learns from a trace of some steps, and from one of no step, how much a step takes."""
        self._empty_trace = empty_trace
        self.per_step = trace.minus(empty_trace).times(1 / steps)

    def predict(self, steps: int, measured_step_s: float) -> Prediction:
        """Predicts a trace of several steps from a measured one."""
        trace = self._trace_of(steps)
        overhead = self._step_times.overhead_of(measured_step_s)
        return Prediction(round(trace.size_bytes), round(trace.events), steps, overhead)

    def is_exceeded_by(self, prediction: Prediction) -> bool:
        """Returns whether a trace as predicted exceeds what is left."""
        return not self.has_room_for(prediction.steps)

    def has_room_for(self, steps: int) -> bool:
        """Returns whether the current trace may hold that many steps."""
        return self.per_step is None or steps <= self.steps_that_fit()

    def steps_that_fit(self) -> float:
        """Returns how many steps the current trace may hold; 0 while the size of a step is unknown."""
        if self.per_step is None:
            return 0
        left = Size(self.max_bytes, self.max_events or sys.maxsize).minus(self._finished.plus(self._empty_trace))
        return min(part // one if one else sys.maxsize for part, one in zip(left, self.per_step))

    def could_be_full_after(self, recorded_s: float) -> bool:
        """Returns whether a recording of this length may already hold a quarter of the budget."""
        share = recorded_s * FASTEST_BYTES_PER_S / self.max_bytes
        if self.max_events is not None:
            share = max(share, recorded_s * FASTEST_EVENTS_PER_S / self.max_events)
        return share > 0.25

    def finish_trace(self, steps: int, written: Size | None) -> None:
        """Counts a finished trace, by its real size if it was written."""
        if written is not None and steps > 0:
            self.measure(written, self._empty_trace, steps)
        self._finished = self._finished.plus(self._trace_of(steps) if written is None else written)

    def cap_in_words(self) -> str:
        """Returns the cap as the user set it."""
        events = "" if self.max_events is None else f" or max_events ({self.max_events:,})"
        return f"max_bytes ({readable_size(self.max_bytes)}){events}"

    def _trace_of(self, steps: int) -> Size:
        return self._empty_trace.plus((self.per_step or NOTHING).times(steps))
