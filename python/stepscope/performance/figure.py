"""Values with a reason: not measured (NaN), or measured in part (a number).

A value that was not measured is a NaN with the reason why.

It formats, compares and computes as any NaN does, so code that expects a number keeps working. Results computed from
it keep the reason.

>>> peak = unmeasured("track_gpu is off")
>>> f"{peak:.1f} MB"
'nan MB'
>>> peak > 100
False
>>> (peak / 1000).reason
'track_gpu is off'

A value that covers only a part is a plain number with the reason why.

>>> calls = incomplete(1200, "some calls were dropped")
>>> calls + 1, calls.reason
(1201, 'some calls were dropped')
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Unmeasured", "incomplete", "known", "reason_of", "unmeasured", "what_is_missing"]

_INTEGER_FORMATS = "bcdoxX"


class Unmeasured(float):
    """NaN with a `reason`: a value that was not measured."""

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
    """Returns a value that was not measured, with the reason."""
    return Unmeasured(reason)


class _IncompleteFloat(float):
    """A float that covers only a part, with the reason."""

    reason: str

    def __reduce__(self) -> tuple[Any, tuple[float, str]]:
        return incomplete, (float(self), self.reason)


class _IncompleteInt(int):
    """An integer that covers only a part, with the reason."""

    reason: str

    def __reduce__(self) -> tuple[Any, tuple[int, str]]:
        return incomplete, (int(self), self.reason)


def incomplete(value: Any, reason: str | None) -> Any:
    """Adds the reason why a value does not cover everything; leaves it unmodified without a reason, or if it is NaN."""
    if reason is None or value != value:
        return value
    kind = _IncompleteInt if isinstance(value, int) else _IncompleteFloat
    marked = kind(value)
    marked.reason = reason
    return marked


def what_is_missing(value: Any) -> str | None:
    """Returns why a measured value does not cover everything; `None` if it does."""
    return getattr(value, "reason", None) if known(value) else None


def known(value: float | str | None) -> bool:
    """Returns whether a value was measured."""
    return value is not None and value == value


def reason_of(value: float | str | None) -> str | None:
    """Returns why a value was not measured; `None` if it was."""
    return None if known(value) else getattr(value, "reason", "it was not measured")
