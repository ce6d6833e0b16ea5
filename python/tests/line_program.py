"""A program whose lines are counted: by `stepscope.lines`, by line_profiler, and in the head of its author."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any

#: What a thread does its work inside: line_profiler must be switched on in each.
around: Callable[[], Any] = contextlib.nullcontext


def loops(count: int) -> int:
    total = 0
    for number in range(count):
        if number % 3 == 0:
            continue
        total += number
    while total > 10:
        total //= 2
    else:
        total += 1
    return total


def recursion(depth: int) -> int:
    if depth < 2:
        return depth
    left = recursion(depth - 1)
    right = recursion(depth - 2)
    return left + right


def numbers(count: int) -> Iterator[int]:
    for number in range(count):
        doubled = number * 2
        yield doubled
    yield -1


def delegating(count: int) -> Iterator[int]:
    yield from numbers(count)
    yield from (number for number in range(count))


def listening() -> Generator[int, int, None]:
    heard = 0
    try:
        while True:
            heard += yield heard
    except ValueError:
        heard = -1
        yield heard
    finally:
        heard = 0


def talking() -> list[int]:
    generator = listening()
    answers = [next(generator)]
    answers.append(generator.send(2))
    answers.append(generator.send(3))
    answers.append(generator.throw(ValueError()))
    generator.close()
    forgotten = numbers(3)
    next(forgotten)
    del forgotten
    return answers


def failing(number: int) -> int:
    if number == 0:
        raise KeyError(number)
    return failing(number - 1)


def exceptions(count: int) -> int:
    caught = 0
    for number in range(count):
        try:
            failing(number)
        except KeyError:
            caught += 1
        finally:
            caught += 0
    with contextlib.suppress(KeyError):
        failing(1)
        caught = -1
    return caught


def comprehensions(count: int) -> int:
    squares = [number * number for number in range(count)]
    table = {number: number for number in squares}
    total = sum(number for number in table)
    ordered = sorted(squares, key=lambda number: -number)
    return total + len(ordered)


async def waiting(turns: int) -> int:
    done = 0
    for _ in range(turns):
        await asyncio.sleep(0)
        done += 1
    return done


async def gathering() -> int:
    parts = await asyncio.gather(waiting(3), waiting(5))
    return sum(parts)


def decorated(function: Callable[[int], int]) -> Callable[[int], int]:
    def wrapper(number: int) -> int:
        result = function(number)
        return result + 1

    return wrapper


@decorated
def increment(number: int) -> int:
    return (
        number
        + 1
    )


def in_thread(count: int) -> None:
    with around():
        loops(count)
        recursion(4)


def threads(count: int) -> None:
    workers = [threading.Thread(target=in_thread, args=(count,)) for _ in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def everything() -> None:
    loops(20)
    recursion(7)
    list(numbers(4))
    list(delegating(3))
    talking()
    exceptions(4)
    comprehensions(6)
    asyncio.run(gathering())
    increment(increment(1))
    threads(3)


#: What line_profiler can be told of by name.
FUNCTIONS = (
    loops, recursion, numbers, delegating, listening, talking, failing, exceptions, comprehensions, waiting, gathering,
    decorated, threads, everything,
)  # fmt: skip
