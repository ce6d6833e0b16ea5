"""What can go wrong, as a small tree: catch `StepscopeError` for all of it.

Every error says what happened (`message`), where (`location`) and what to do next (`hint`).
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
    """Anything that Stepscope cannot do."""

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
    """A question that makes no sense, such as a column or a step that is not there."""


class QueryError(UsageError):
    """A SQL statement that cannot be answered."""


class RegionError(UsageError, KeyError):
    """A region that has not closed, or never was."""

    # `KeyError` would print its own words.
    __str__ = StepscopeError.__str__


class ProfilerBusyError(UsageError, RuntimeError):
    """Another profiler is recording, and torch has room for one."""


class NotFoundError(StepscopeError, FileNotFoundError):
    """Nothing is at that path."""

    # `FileNotFoundError` would print its own words.
    __str__ = StepscopeError.__str__


class TraceError(StepscopeError):
    """Input that cannot be read at all."""


class OutputError(StepscopeError, OSError):
    """An output that cannot be written: a full disk, or a folder without permission."""

    # `OSError` would print its own words.
    __str__ = StepscopeError.__str__


class MemoryLimitError(StepscopeError, MemoryError):
    """A query that needs more than the memory limit."""


class MissingPackageError(StepscopeError, ImportError):
    """A package that a feature needs is not installed."""

    __str__ = StepscopeError.__str__


class BugError(StepscopeError):
    """A bug in Stepscope: please report it."""
