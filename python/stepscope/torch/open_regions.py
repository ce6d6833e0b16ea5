"""Ends the regions of `record_function` that are open when a recording ends.

Torch 2.15 writes the end of a region into the recording in which it began. If that one is gone and another continues,
torch writes into memory that is no longer its own, and the program crashes sooner or later.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import torch
import torch.autograd.profiler

_open: dict[int, list[Any]] = {}
_is_watching = False


def watch() -> None:
    """Starts tracking which regions are open in which thread."""
    global _is_watching
    if _is_watching:
        return
    _is_watching = True
    owner: Any = torch.autograd.profiler.record_function
    enter, exit = owner.__enter__, owner.__exit__

    @functools.wraps(enter)
    def __enter__(self: Any) -> Any:
        entered = enter(self)
        _open.setdefault(threading.get_ident(), []).append(self)
        return entered

    @functools.wraps(exit)
    def __exit__(self: Any, *error: Any) -> Any:
        regions = _open.get(threading.get_ident(), [])
        # Last in, first out, as a rule.
        if regions and regions[-1] is self:
            regions.pop()
        elif self in regions:
            regions.remove(self)
        return exit(self, *error)

    owner.__enter__, owner.__exit__ = __enter__, __exit__


def end_all() -> None:
    """Ends the regions that are open in this thread; ending them again later does nothing."""
    for region in reversed(_open.pop(threading.get_ident(), [])):
        if region.record is not None:
            with torch._C.DisableTorchFunctionSubclass():
                torch.ops.profiler._record_function_exit._RecordFunction(region.record)
