"""Values that callers pass, checked in the words of Python: what was expected, and what was found."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from typing import Any

__all__ = ["number", "optional", "parsed_size", "size_in_bytes", "texts", "whole_number", "whole_numbers"]

_SIZE = re.compile(r"([0-9]{1,15})\s*(?:([kmgt])i?)?b?", re.IGNORECASE)


def size_in_bytes(name: str, value: Any) -> int:
    """A number of bytes, or a size such as `"20MB"`; factors are 1024, as for the sizes of the commands.

    >>> size_in_bytes("max_bytes", "1GB")
    1073741824
    """
    wanted = "a number of bytes or a size such as '20MB'"
    if isinstance(value, str):
        size = parsed_size(value)
        if size is None:
            raise ValueError(_message(name, wanted, value))
        return size
    return whole_number(name, value, least=1, wanted=wanted)


def parsed_size(text: str) -> int | None:
    """The bytes of a size such as `20MB`; None if it is not a size, or 0."""
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) * 1024 ** " kmgt".index((match[2] or " ").lower()) or None if match else None


def whole_number(name: str, value: Any, *, least: int = 0, wanted: str | None = None) -> int:
    """A whole number that is not less than `least`; one of numpy or torch and a float such as 1e9 count too."""
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


def whole_numbers(name: str, value: Any) -> list[int]:
    """One whole number, or several."""
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [whole_number(name, one) for one in value]
    return [whole_number(name, value)]


def number(name: str, value: Any) -> float:
    """A number more than 0."""
    wanted = "a number more than 0"
    if isinstance(value, (bool, str)):
        raise TypeError(_message(name, wanted, value))
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise TypeError(_message(name, wanted, value)) from None
    if not 0 < found < float("inf"):
        raise ValueError(_message(name, wanted, value))
    return found


def texts(name: str, value: Any) -> list[str]:
    """Texts, or one with commas between them."""
    several = value.split(",") if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    if not all(isinstance(one, str) for one in several):
        raise TypeError(_message(name, "a text or several", value))
    return several


def optional(check: Any, name: str, value: Any, **how: Any) -> Any:
    """The value checked by `check`, or None."""
    return None if value is None else check(name, value, **how)


def _message(name: str, wanted: str, value: Any) -> str:
    return f"{name}: expected {wanted}, found {value!r}"
