"""Defines the settings of the `profiling:` section: its keys and values, and the errors for wrong ones."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any

from stepscope.errors import UsageError


@dataclasses.dataclass(frozen=True)
class Entry:
    """One key with its value as written, and the place to name in an error."""

    key: str
    value: str
    place: str
    is_quoted: bool = False


@dataclasses.dataclass(frozen=True)
class Settings:
    """What to record, and when. The defaults are those of the `profiling:` section."""

    wait: int = 1
    warmup: int = 1
    active: int = 3
    repeat: int = 1
    record_shapes: bool = True
    profile_memory: bool = True
    with_stack: bool = False
    with_flops: bool = False
    with_modules: bool = False
    unit: str = "epochs"
    max_bytes: int = 1024**3

    def records(self, index: int) -> bool:
        """Returns whether the schedule records the step or epoch with this number, counted from 0."""
        cycle, place_in_cycle = divmod(index, self.wait + self.warmup + self.active)
        return (self.repeat == 0 or cycle < self.repeat) and place_in_cycle >= self.wait + self.warmup


@dataclasses.dataclass(frozen=True)
class Key:
    """A key of the section, and its values in words and as a function.

    The function returns `None` for a wrong value, or raises a `ValueError` with more detail.
    """

    meaning: str
    wants: str
    example: str
    read: Callable[[str], Any]
    takes_text: bool = False


def _whole_number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _boolean(text: str) -> bool | None:
    return {"true": True, "True": True, "false": False, "False": False}.get(text)


def _limit_bytes(text: str) -> int:
    # Loaded here, as a script that is recorded has no use for the rest of it.
    from stepscope._native import limit_bytes

    return limit_bytes(text)


def _count(meaning: str, example: str) -> Key:
    return Key(meaning, "a whole number, 0 or more", example, _whole_number)


def _switch(meaning: str) -> Key:
    return Key(meaning, "true or false", "true", _boolean)


KEYS: dict[str, Key] = {
    "wait": _count("epochs or steps to skip first", "1"),
    "warmup": _count("epochs or steps to warm up the profiler with; not saved", "1"),
    "active": Key(
        "epochs or steps to record", "a whole number, 1 or more", "3", lambda text: _whole_number(text) or None
    ),
    "repeat": _count("how often to repeat the cycle; 0 repeats until the script ends", "1"),
    "record_shapes": _switch("record the shapes of tensors"),
    "profile_memory": _switch("record memory allocations"),
    "with_stack": _switch("record the source line that called each operator (slow)"),
    "with_flops": _switch("estimate the FLOPs of operators"),
    "with_modules": _switch("record the module hierarchy"),
    "unit": Key(
        "what to count: epochs or steps",
        "epochs or steps",
        "steps",
        lambda text: text if text in ("epochs", "steps") else None,
        takes_text=True,
    ),
    "max_bytes": Key(
        "size that all traces together may reach, such as 20MB",
        "a size such as 20MB",
        "20MB",
        _limit_bytes,
        takes_text=True,
    ),
}


def settings_from(entries: Iterable[Entry]) -> Settings:
    """Checks the entries and applies them to the defaults; a later entry overrides an earlier one of the same key.

    >>> settings_from([Entry("active", "2", "c.yaml, line 3"), Entry("unit", "steps", "option `--profiling.unit`")])
    Settings(wait=1, warmup=1, active=2, repeat=1, record_shapes=True, profile_memory=True, with_stack=False, \
with_flops=False, with_modules=False, unit='steps', max_bytes=1073741824)
    """
    return dataclasses.replace(Settings(), **{entry.key: _checked(entry) for entry in entries})


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Returns the known word that is most similar to this one, if any is similar."""
    return next(iter(difflib.get_close_matches(word.lower(), list(known), n=1)), None)


def _checked(entry: Entry) -> Any:
    key = KEYS.get(entry.key)
    if key is None:
        near = nearest(entry.key, KEYS)
        meant = f"did you mean `{near}`? " if near else ""
        raise UsageError(f"unknown key `{entry.key}` in profiling", entry.place, f"{meant}known: {', '.join(KEYS)}")
    if entry.is_quoted and not key.takes_text:
        problem = f"`{entry.key}` in profiling: expected {key.wants}, found the string \"{entry.value}\""
        raise UsageError(problem, entry.place, "remove the quotes")
    try:
        value = key.read(entry.value)
        problem = f"`{entry.key}` in profiling: expected {key.wants}, found `{entry.value}`"
    except ValueError as error:
        value = None
        problem = f"`{entry.key}` in profiling: {error}, found `{entry.value}`"
    if value is None:
        raise UsageError(problem, entry.place, f"for example {entry.key}: {key.example}")
    return value
