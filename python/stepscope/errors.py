"""Errors that Stepscope raises. Catch `StepscopeError` to catch all of them.

Every error has a `message` (what happened), a `location` (where) and a `hint` (what to do next).
"""

from __future__ import annotations

__all__ = [
    "BugError",
    "MemoryLimitError",
    "MissingPackageError",
    "NotFoundError",
    "OutputError",
    "ProfilerBusyError",
    "QueryError",
    "RegionError",
    "StepscopeError",
    "TraceError",
    "UsageError",
]


class StepscopeError(Exception):
    """The base class of all errors that Stepscope raises.

    Args:
        message: What happened.
        location: Where, such as a file and a line; `None` if there is no place to name.
        hint: What to do next; `None` if there is nothing to suggest.
    """

    def __init__(self, message: str, location: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, location, hint)
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.message]
        if self.location is not None:
            lines.append(f"  --> {self.location}")
        if self.hint is not None:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class UsageError(StepscopeError, ValueError):
    """An argument or option is wrong, such as a column or a step that does not exist."""


class QueryError(UsageError):
    """A SQL statement cannot be run."""


class RegionError(UsageError, KeyError):
    """A region has not closed yet, or does not exist."""

    # `KeyError` would print its own words.
    __str__ = StepscopeError.__str__


class ProfilerBusyError(UsageError, RuntimeError):
    """Another profiler is already recording; torch allows one at a time."""


class NotFoundError(StepscopeError, FileNotFoundError):
    """A path does not exist."""

    # `FileNotFoundError` would print its own words.
    __str__ = StepscopeError.__str__


class TraceError(StepscopeError):
    """A trace cannot be read at all."""


class OutputError(StepscopeError, OSError):
    """An output cannot be written, for example because the disk is full."""

    # `OSError` would print its own words.
    __str__ = StepscopeError.__str__


class MemoryLimitError(StepscopeError, MemoryError):
    """A query needs more memory than the memory limit allows."""


class MissingPackageError(StepscopeError, ImportError):
    """A package that a feature needs is not installed."""

    __str__ = StepscopeError.__str__


class BugError(StepscopeError):
    """A bug in Stepscope. Please report it."""
