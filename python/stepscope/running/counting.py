"""Detects where a step or an epoch ends, from a script's calls of torch's optimizers and data loaders."""

from __future__ import annotations

import functools
import importlib
import os
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any


class Counter:
    """Counts steps and epochs; calls `units_found` at the first sign of either, `unit_ended` at the end of each unit.

    `unit_ended` gets the samples of the unit, if the script passed those of all its steps. `epoch_ended` is called
    after it at the end of each epoch, whatever the unit is.

    A step ends when the script calls `stepscope.step()`; if it never does, when the first optimizer that stepped has
    stepped again. An epoch ends when the outermost data loader is exhausted, or is started again after a `break`. Once
    the script has made a step, a pass without one is a validation, not an epoch.
    """

    def __init__(
        self,
        unit: str,
        units_found: Callable[[], None],
        unit_ended: Callable[[int | None], None],
        epoch_ended: Callable[[], None] = lambda: None,
    ) -> None:
        self.unit = unit
        self.units_found = units_found
        self.unit_ended = unit_ended
        self.epoch_ended = epoch_ended
        self.steps = 0
        self.epochs = 0
        self.has_units = False
        self._has_step_calls = False
        self._samples: list[int | None] = []
        # The profiler belongs to the thread that started it, and a forked worker has none.
        self._owner = (os.getpid(), threading.get_ident())
        self._optimizer: weakref.ref[Any] | None = None
        self._optimizer_has_stepped = False
        self._steps_of_any = 0
        self._loader: weakref.ref[Any] | None = None
        self._pass: weakref.ref[Any] | None = None
        self._steps_before_pass = 0
        self._undo: list[Callable[[], None]] = []

    def attach(self) -> None:
        """Starts listening. Needs torch to be imported."""
        optimizer = importlib.import_module("torch.optim.optimizer")
        handle = optimizer.register_optimizer_step_post_hook(self._optimizer_stepped)
        dataloader = importlib.import_module("torch.utils.data.dataloader")
        self._undo = [
            handle.remove,
            wrap(dataloader.DataLoader, "__iter__", self._begin_pass),
            wrap(dataloader._BaseDataLoaderIter, "__next__", self._next_batch),
        ]

    def detach(self, *, is_complete: bool) -> None:
        """Stops listening. At the end of a complete script, a pass that was left by `break` is over as well."""
        while self._undo:
            self._undo.pop()()
        if self._optimizer_has_stepped:
            self._count_step()
        if is_complete and self._pass and self._pass() is None:
            self._end_pass()

    def count_by(self, unit: str) -> None:
        """Continues with another unit."""
        self.unit = unit
        self._samples = []

    def is_in_pass(self) -> bool:
        """Returns whether the script is reading a data loader."""
        return self._pass is not None and self._pass() is not None

    def step_called(self, samples: int | None = None) -> None:
        """Notes that the script has ended a step, and how many samples it worked on."""
        if self._is_elsewhere():
            return
        self._steps_of_any += 1
        # The optimizer of the same step was heard first, and has counted it.
        is_counted = not self._has_step_calls and self.steps > 0
        self._has_step_calls = True
        if not (is_counted and self.unit == "steps"):
            self._samples.append(samples)
        if not is_counted:
            self._count_step()

    def _optimizer_stepped(self, optimizer: Any, _arguments: Any, _keywords: Any) -> None:
        if self._is_elsewhere():
            return
        self._steps_of_any += 1
        known = self._optimizer() if self._optimizer else None
        if self._has_step_calls or (known and known is not optimizer):
            return
        if known is None:
            self._optimizer = weakref.ref(optimizer)
            self._count_behind_step_of(optimizer)
            self._count_step()
            return
        # Somebody else replaced the method: a late boundary is better than none.
        if self._optimizer_has_stepped:
            self._count_step()
        self._optimizer_has_stepped = True

    def _count_behind_step_of(self, optimizer: Any) -> None:
        # torch calls its hooks inside the span of the optimizer's step, which would reach over the end of our step.
        step = optimizer.step

        @functools.wraps(step)
        def step_and_count(_optimizer: Any, *arguments: Any, **keywords: Any) -> Any:
            result = step(*arguments, **keywords)
            if self._optimizer_has_stepped:
                self._optimizer_has_stepped = False
                self._count_step()
            return result

        # A scheduler of learning rates that comes later expects a method.
        optimizer.step = types.MethodType(step_and_count, optimizer)

    def _begin_pass(self, original: Callable[[Any], Any], loader: Any) -> Any:
        is_open = self.is_in_pass()
        is_same = self._loader is not None and self._loader() is loader
        if self._is_elsewhere() or (is_open and not is_same):
            return original(loader)
        if self._pass is not None:
            self._end_pass()
        self._steps_before_pass = self._steps_of_any
        iterator = original(loader)
        self._loader, self._pass = weakref.ref(loader), weakref.ref(iterator)
        self._found()
        return iterator

    def _next_batch(self, original: Callable[[Any], Any], iterator: Any) -> Any:
        try:
            return original(iterator)
        except StopIteration:
            if self._pass is not None and self._pass() is iterator and not self._is_elsewhere():
                self._end_pass()
            raise

    def _end_pass(self) -> None:
        self._pass = None
        if self._steps_of_any == 0 or self._steps_of_any > self._steps_before_pass:
            self.epochs += 1
            self._ended("epochs")
            self.epoch_ended()

    def _count_step(self) -> None:
        self._found()
        self.steps += 1
        self._ended("steps")

    def _found(self) -> None:
        if not self.has_units:
            self.has_units = True
            self.units_found()

    def _ended(self, unit: str) -> None:
        if unit == self.unit:
            told = [samples for samples in self._samples if samples is not None]
            is_known = bool(told) and len(told) == len(self._samples)
            self._samples = []
            self.unit_ended(sum(told) if is_known else None)

    def _is_elsewhere(self) -> bool:
        return (os.getpid(), threading.get_ident()) != self._owner


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> Callable[[], None]:
    """Puts `around` between a method and its callers; returns what removes it again."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def method(self: Any) -> Any:
        return around(original, self)

    setattr(owner, name, method)
    return lambda: setattr(owner, name, original)
