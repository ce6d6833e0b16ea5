"""Puts a region around every call of a function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, aclosing
from typing import Any

__all__ = ["inside"]


def inside(region: AbstractContextManager[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function so that each call is inside the region; coroutines and generators from their first line on."""
    if inspect.isclass(function) or not callable(function):
        what = f"the class {function.__name__}" if inspect.isclass(function) else repr(function)
        raise TypeError(f"region: expected a function or a method to decorate, found {what}")
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

    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def iterated(*arguments: Any, **named: Any) -> Any:
            with region:
                async with aclosing(function(*arguments, **named)) as items:
                    async for item in items:
                        yield item

        return iterated

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        with region:
            return function(*arguments, **named)

    return called
