"""Writes the last line of a recording: what was recorded and how to open it, or why nothing was."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

from .counting import Counter
from .settings import Settings


@dataclasses.dataclass
class Outcome:
    """The outcome of a recording."""

    settings: Settings
    #: Prefix of a setting where the user sets it, such as `--profiling.`.
    option_prefix: str
    units_ended: int = 0
    units_recorded: int = 0
    has_recorded_part: bool = False
    #: Steps that were recorded because there were too few epochs.
    trial_steps: int = 0
    cut_after_s: float | None = None
    trouble: str = ""
    failure: str | None = None

    def option(self, name: str) -> str:
        """Returns a setting as the user writes it."""
        return f"{self.option_prefix}{name}"


def summary(outcome: Outcome, counter: Counter, folder: Path, has_traces: bool) -> str:
    """Returns the line."""
    if outcome.failure and not has_traces:
        return f"no trace was written to {folder}: {outcome.failure}"
    if not has_traces:
        return f"nothing recorded: {outcome.trouble or _why_nothing(outcome, counter)}"
    look = f"open with: stepscope open {shlex.quote(str(folder))}"
    if not counter.has_units and not outcome.trouble:
        cut = outcome.cut_after_s
        part = "the whole script" if cut is None else f"the first {cut:.1f} s of the script"
        why = "its main thread made no optimizer step and read no DataLoader"
        more = "" if cut is None else f"; for more, raise {outcome.option('max_bytes')} or call stepscope.step()"
        return f"recorded {part} as one step: {why}{more}; {look}"
    if outcome.trial_steps:
        why = f" ({outcome.trouble})" if outcome.trouble else f" instead of epochs: {_too_few_epochs(outcome, counter)}"
        return f"recorded {_number(outcome.trial_steps, 'steps')}{why}; {look}"
    recorded = _number(outcome.units_recorded, outcome.settings.unit)
    part = " and a part of one" if outcome.has_recorded_part else ""
    problem = outcome.trouble or ("" if outcome.units_ended else _why_nothing(outcome, counter))
    return f"recorded {recorded}{part}{f' ({problem})' if problem else ''}; {look}"


def _why_nothing(outcome: Outcome, counter: Counter) -> str:
    settings = outcome.settings
    skipped = settings.wait + settings.warmup
    unit = settings.unit
    ended = outcome.units_ended
    if unit == "epochs" and not ended and counter.steps:
        unit, ended = "steps", counter.steps
    if ended > skipped:
        return f"one {unit[:-1]} is larger than {outcome.option('max_bytes')} allows"
    if ended:
        lower = f"lower {outcome.option('wait')} or {outcome.option('warmup')}"
        return f"the script ended after {_number(ended, unit)}, and the schedule skips {skipped:,}; {lower}"
    call = "call stepscope.step() at the end of each step"
    if unit == "steps":
        return f"no optimizer stepped; {call}, or use {outcome.option('unit')} epochs"
    return f"no epoch ended, as no DataLoader was read to its end; use {outcome.option('unit')} steps and {call}"


def _too_few_epochs(outcome: Outcome, counter: Counter) -> str:
    if not counter.epochs:
        return "no DataLoader was read to its end"
    skipped = outcome.settings.wait + outcome.settings.warmup
    return f"the script ended after {_number(counter.epochs, 'epochs')}, and the schedule skips {skipped:,}"


def _number(count: int, unit: str) -> str:
    return f"{count:,} {unit if count != 1 else unit[:-1]}"
