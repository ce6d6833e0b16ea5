"""Checks the values that callers pass, and names what was expected and what was found."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from stepscope.errors import UsageError

__all__ = ["from_text", "number", "optional", "ranks", "size_in_bytes", "strings", "whole_number"]

Read = TypeVar("Read")


def size_in_bytes(name: str, value: Any) -> int:
    """Reads a number of bytes, or a size such as `"20MB"`: 1 MB is 10^6 bytes, 1 MiB is 2^20.

    >>> size_in_bytes("max_bytes", "1GB")
    1000000000
    """
    if isinstance(value, str):
        from stepscope._native import limit_bytes

        return from_text(limit_bytes, name, value)
    return whole_number(name, value, least=1, wanted="a number of bytes, or a size such as 512MiB or 2GB")


def from_text(read: Callable[[str], Read], name: str, text: str) -> Read:
    """Reads a string as the command reads the same option."""
    try:
        return read(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}, found {text!r}") from None


def whole_number(name: str, value: Any, *, least: int = 0, wanted: str | None = None) -> int:
    """Checks a whole number that is at least `least`; also accepts those of numpy and torch, and floats such as 1e9."""
    wanted = wanted or f"a whole number, {least} or more"
    if isinstance(value, bool):
        raise TypeError(_message(name, wanted, value))
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError:
        wrong = ValueError if isinstance(value, float) else TypeError
        raise wrong(_message(name, wanted, value)) from None
    if number < least:
        raise ValueError(_message(name, wanted, value))
    return number


def ranks(name: str, value: Any) -> list[int]:
    """Reads one rank or several, or a string such as `"0,2-4"`."""
    if isinstance(value, str):
        from stepscope._native import ranks as read

        return from_text(read, name, value)
    several = value if isinstance(value, Iterable) and not isinstance(value, bytes) else [value]
    return [whole_number(name, one) for one in several]


def number(name: str, value: Any) -> float:
    """Checks a number greater than 0."""
    wanted = "a number greater than 0"
    if isinstance(value, (bool, str)):
        raise TypeError(_message(name, wanted, value))
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise TypeError(_message(name, wanted, value)) from None
    if not 0 < found < float("inf"):
        raise ValueError(_message(name, wanted, value))
    return found


def strings(name: str, value: Any) -> list[str]:
    """Reads strings, or one string with commas between them."""
    several = value.split(",") if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    if not all(isinstance(one, str) for one in several):
        raise TypeError(_message(name, "one or more strings", value))
    return several


def optional(check: Any, name: str, value: Any, **how: Any) -> Any:
    """Returns the value checked by `check`, or None."""
    return None if value is None else check(name, value, **how)


def _message(name: str, wanted: str, value: Any) -> str:
    return f"{name}: expected {wanted}, found {value!r}"
