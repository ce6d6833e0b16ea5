"""Profiles `model.fit` of Keras, with TensorFlow or JAX as its backend.

    import stepscope.keras

    callback = stepscope.keras.Callback(profile_batch=(2, 5), logdir="logs/profiler")
    model.fit(x, y, epochs=5, callbacks=[callback])

The callback takes the place of `keras.callbacks.TensorBoard(log_dir=…, profile_batch=…)` for profiling.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib import import_module
from typing import Any

from stepscope.errors import MissingPackageError, UsageError
from stepscope.values import whole_number
from stepscope.xplane_capture import DEFAULT_MAX_BYTES

__all__ = ["Callback"]

#: The module that records and its name for options, by the backend of Keras.
_FRAMEWORKS = {"tensorflow": ("stepscope.tensorflow", "options"), "jax": ("stepscope.jax", "profiler_options")}


@cache
def _callback_class() -> Any:
    keras = _keras()

    class Callback(keras.callbacks.Callback):  # type: ignore[misc,name-defined]
        """Records some batches of a training, each as a step.

        Batches are counted from 1 over all epochs of a `fit`, and steps have their numbers.

        Args:
            profile_batch: The batches to record: one number, the first and the last one as `(2, 5)`, or both in
                Keras's own spelling `"2,5"`; 0 records none.
            logdir: Folder to write to.
            log_dir: The same, as Keras spells it.
            options: What to record, as TensorFlow's `ProfilerOptions` or JAX's `ProfileOptions`.
            max_seconds: Seconds after which the recording stops.
            max_bytes: Size at which the recording stops, such as `"50MB"`.

        Its `profiler` has the number of recorded `steps` and their `overhead`.
        """

        def __init__(
            self,
            profile_batch: int | str | tuple[int, int] = (2, 5),
            logdir: str | os.PathLike[str] | None = None,
            *,
            log_dir: str | os.PathLike[str] | None = None,
            options: Any = None,
            max_seconds: float | None = None,
            max_bytes: int | str = DEFAULT_MAX_BYTES,
        ) -> None:
            super().__init__()
            self._first, self._last = batches_to_record(profile_batch)
            self._framework, options_name = _framework_of(keras.backend.backend())
            chosen = {options_name: options, "max_seconds": max_seconds, "max_bytes": max_bytes}
            self.profiler = self._framework.profile(logdir or log_dir or "logs", **chosen)
            self._is_running = False
            self._step: Any = None
            self._batch = 0

        def on_train_begin(self, logs: Any = None) -> None:
            self._end()
            self._batch = 0

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self._batch += 1
            if self._batch == self._first:
                self.profiler.__enter__()
                self._is_running = True
            # Also unrecorded ones, to report what recording costs.
            self._step = self._framework.step(self._batch, "Profiled batch")
            self._step.__enter__()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self._end_step()
            if self._batch == self._last:
                self._end()

        def on_train_end(self, logs: Any = None) -> None:
            self._end()

        def _end_step(self) -> None:
            if self._step is not None:
                self._step.__exit__(None, None, None)
                self._step = None

        def _end(self) -> None:
            self._end_step()
            if self._is_running:
                self._is_running = False
                self.profiler.__exit__()

    return Callback


def batches_to_record(profile_batch: Any) -> tuple[int, int]:
    """Returns the first and the last batch.

    >>> batches_to_record("10,20"), batches_to_record((2, 5)), batches_to_record(3)
    ((10, 20), (2, 5), (3, 3))
    """
    wanted = "a batch such as 3, or the first and the last one such as (2, 5) or '2,5'"
    wrong = UsageError(f"profile_batch: expected {wanted}, found {profile_batch!r}")
    if isinstance(profile_batch, str):
        if not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)?", profile_batch):
            raise wrong
        profile_batch = [int(text) for text in profile_batch.split(",")]
    ends = list(profile_batch) if isinstance(profile_batch, (tuple, list)) else [profile_batch]
    numbers = [whole_number("profile_batch", end, wanted=wanted) for end in ends]
    if len(numbers) not in (1, 2) or numbers[0] > numbers[-1]:
        raise wrong
    return numbers[0], numbers[-1]


def _keras() -> Any:
    try:
        return import_module("keras")
    except ImportError as error:
        raise MissingPackageError("stepscope.keras needs Keras", None, "pip install keras tensorflow") from error


def _framework_of(backend: str) -> tuple[Any, str]:
    if backend in _FRAMEWORKS:
        module, options_name = _FRAMEWORKS[backend]
        return import_module(module), options_name
    hint = "set KERAS_BACKEND to tensorflow or jax; for torch, use stepscope.torch.profile around fit()"
    raise UsageError(f"cannot profile Keras with this backend: {backend}", None, hint)


def __getattr__(name: str) -> Any:
    # Keras is needed for the class, not to import this module.
    if name == "Callback":
        return _callback_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
