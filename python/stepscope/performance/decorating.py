"""Puts a region around every call of a function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["inside"]


def inside(region: AbstractContextManager[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, each call inside the region; of a coroutine function or generator, from its first line on."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*arguments: Any, **named: Any) -> Any:
            with region:
                return await function(*arguments, **named)

        return awaited

    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generated(*arguments: Any, **named: Any) -> Any:
            with region:
                return (yield from function(*arguments, **named))

        return generated

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        with region:
            return function(*arguments, **named)

    return called
