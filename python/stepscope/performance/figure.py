"""A figure that was not measured: a float that is NaN and says why.

It formats, compares and computes as any NaN does, so code that expects a number goes on. What is computed from it
keeps the reason.

>>> peak = unmeasured("track_gpu is off")
>>> f"{peak:.1f} MB"
'nan MB'
>>> peak > 100
False
>>> (peak / 1000).reason
'track_gpu is off'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Unmeasured", "known", "reason_of", "unmeasured"]

_INTEGER_FORMATS = "bcdoxX"


class Unmeasured(float):
    """NaN with a reason: what a figure is that nobody measured."""

    reason: str

    def __new__(cls, reason: str) -> Unmeasured:
        self = super().__new__(cls, "nan")
        self.reason = reason
        return self

    def __reduce__(self) -> tuple[type[Unmeasured], tuple[str]]:
        return Unmeasured, (self.reason,)

    def __repr__(self) -> str:
        return f"nan ({self.reason})"

    def __str__(self) -> str:
        return "nan"

    def __format__(self, form: str) -> str:
        # Figures that are integers when measured are formatted as such.
        if form and form[-1] in _INTEGER_FORMATS:
            form = form[:-1] + "f"
        return float.__format__(self, form)

    def __round__(self, digits: Any = None) -> Unmeasured:  # type: ignore[override]
        return self


def _keeping_the_reason(name: str) -> Callable[..., Any]:
    plain = getattr(float, name)

    def compute(self: Unmeasured, *others: Any) -> Any:
        result = plain(self, *others)
        return result if result is NotImplemented else Unmeasured(self.reason)

    compute.__name__ = name
    return compute


for _operation in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _name in (f"__{_operation}__", f"__r{_operation}__"):
        setattr(Unmeasured, _name, _keeping_the_reason(_name))
for _name in ("__neg__", "__pos__", "__abs__"):
    setattr(Unmeasured, _name, _keeping_the_reason(_name))


def unmeasured(reason: str) -> Unmeasured:
    """A figure that was not measured, and why."""
    return Unmeasured(reason)


def known(value: float | str | None) -> bool:
    """Whether a figure was measured."""
    return value is not None and value == value


def reason_of(value: float | str | None) -> str | None:
    """Why a figure was not measured; `None` for one that was."""
    return None if known(value) else getattr(value, "reason", "it was not measured")
