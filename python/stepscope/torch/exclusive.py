"""Allows one profiler at a time: torch has one session, and a second profiler would leave the first one empty."""

from __future__ import annotations

import functools
import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.autograd.profiler

import stepscope
from stepscope.errors import ProfilerBusyError

_OURS = "stepscope.torch.profile"
_GIVES_WAY = "stepscope run"
_THEIRS = "a profiler of torch"
_HOMES = tuple(f"{os.path.dirname(os.path.abspath(home))}{os.sep}" for home in (torch.__file__, stepscope.__file__))

#: The profiler that holds torch's session, its name, and the line that started it.
_holder: tuple[weakref.ref[Any], str, str] | None = None
_name = _THEIRS


@contextmanager
def preparing_ours(*, gives_way: bool) -> Iterator[None]:
    """Marks that our profiler asks torch for the session; its owner stops one that gives way to another."""
    global _name
    _name = _GIVES_WAY if gives_way else _OURS
    try:
        yield
    finally:
        _name = _THEIRS


def holder(besides: Any) -> tuple[str, str] | None:
    """Returns who holds the session and since which line, unless it is free or held by the profiler `besides`."""
    if _holder is not None and (holding := _holder[0]()) is not None:
        return None if holding is besides or _holder[1] == _GIVES_WAY else _holder[1:]
    # Emitters of NVTX and ITT ranges take it without being prepared.
    if getattr(torch.autograd.profiler, "_is_profiler_enabled", False):
        return _THEIRS, ""
    return None


def refuse(who: tuple[str, str]) -> ProfilerBusyError:
    """Returns the error that names the profiler that holds the session."""
    name, since = who
    hint = "stop it first, or remove one of the two: torch records with one profiler at a time"
    return ProfilerBusyError(f"another profiler is recording: {name}", since or None, hint)


def _prepare(prepare: Any, profiler: Any) -> None:
    global _holder
    other = holder(besides=profiler)
    # Two of torch's own are not our business.
    if other is not None and _OURS in (_name, other[0]):
        raise refuse(other)
    prepare(profiler)
    _holder = weakref.ref(profiler), _name, _calling_line()


def _exit(exit: Any, profiler: Any, *error: Any) -> Any:
    global _holder
    try:
        return exit(profiler, *error)
    finally:
        if _holder is not None and _holder[0]() is profiler:
            _holder = None


def _calling_line() -> str:
    """Returns the innermost line that is neither torch's nor ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOMES):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _wrap(name: str, around: Any) -> None:
    owner: Any = torch.autograd.profiler.profile
    original = getattr(owner, name, None)
    if original is None:  # A private name: some version may not have it.
        return

    @functools.wraps(original)
    def method(self: Any, *arguments: Any) -> Any:
        return around(original, self, *arguments)

    setattr(owner, name, method)


_wrap("_prepare_trace", _prepare)
_wrap("__exit__", _exit)
