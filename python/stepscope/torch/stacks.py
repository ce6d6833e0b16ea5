"""Builds Python stacks of recorded operators from the nesting of spans.

Torch fills `stack` of an operator only with an experimental setting that makes traces half as large again. With
`with_stack=True`, Python functions are spans of the trace, so the stack is what encloses an operator.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from stepscope._native import write_output
from stepscope.torch.averages import other_name
from stepscope.torch.budget import CaptureWarning

METRICS = ("self_cpu_time_total", "self_device_time_total", "self_cuda_time_total", "self_xpu_time_total")
# Objects come and go, and the same call on another one is the same frame.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_FRAME_CHARACTERS = str.maketrans({";": ":", "\n": " ", "\t": " "})


def write_stacks(events: Iterable[Any], path: Path, metric: str) -> None:
    """Writes `outermost;…;innermost microseconds`, one line per stack, as flame graph tools read them."""
    if metric not in METRICS:
        raise ValueError(f"metric: expected one of {', '.join(METRICS)}, found {metric!r}")
    on_cpu = [event for event in events if event.device_type.name == "CPU" and not event.is_async]
    times = _time_of_stacks(on_cpu, metric)
    if not times and metric != "self_cpu_time_total":
        warnings.warn(
            f"nothing ran on a device, so {path} holds CPU time instead of {metric}", CaptureWarning, stacklevel=3
        )
        times = _time_of_stacks(on_cpu, "self_cpu_time_total")
    lines = (f"{stack} {round(time_us)}\n" for stack, time_us in sorted(times.items()) if round(time_us) > 0)
    write_output(path, "".join(lines), [])


def fill_missing_stacks(events: Iterable[Any]) -> None:
    """Fills missing stacks of operators with the Python functions around them, innermost first, as torch does."""
    for event in events:
        if not event.stack and not _is_python(event):
            event.stack = [parent.name for parent in _enclosing(event) if _is_python(parent)]


def _time_of_stacks(events: Iterable[Any], metric: str) -> Counter[str]:
    metric = metric.replace("cuda", "device").replace("xpu", "device")
    times: Counter[str] = Counter()
    known_stacks: dict[int, str] = {}
    for event in events:
        time_us = getattr(event, metric if hasattr(event, metric) else other_name(metric))
        if time_us > 0:
            times[_stack_of(event, known_stacks)] += time_us
    return times


def _stack_of(event: Any, known_stacks: dict[int, str]) -> str:
    """Returns the names from the outermost span to the event; builds each stack once, as spans have many children."""
    unknown = list(takewhile(lambda span: id(span) not in known_stacks, [event, *_enclosing(event)]))
    innermost_known = unknown[-1].cpu_parent if unknown else event
    stack = known_stacks.get(id(innermost_known), "")
    for span in reversed(unknown):
        stack = known_stacks[id(span)] = f"{stack};{_frame(span.name)}" if stack else _frame(span.name)
    return stack


@lru_cache(maxsize=4096)
def _frame(name: str) -> str:
    return _ADDRESS.sub("", name).translate(_FRAME_CHARACTERS)


def _enclosing(event: Any) -> Iterator[Any]:
    while (event := event.cpu_parent) is not None:
        yield event


def _is_python(event: Any) -> bool:
    return bool(getattr(event, "is_python_function", False))
