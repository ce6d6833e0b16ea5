"""Records TensorFlow traces within a capture budget, with the names of `tf.profiler.experimental`.

To use it, change `tf.profiler.experimental` to `stepscope.tensorflow` in a script. TensorFlow's own profiler records;
`stepscope open logs` shows what it wrote.

    import stepscope.tensorflow

    with stepscope.tensorflow.profile("logs/profiler"):
        for number, (x, y) in enumerate(dataset):
            with stepscope.tensorflow.step(number):
                train_step(x, y)

Imports TensorFlow when it is first used.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stepscope.errors import MissingPackageError
from stepscope.xplane_capture import DEFAULT_MAX_BYTES, Budget, CaptureBlock, FrameworkProfiler, MarkedStep, Recorder

#: Names that are TensorFlow's own.
_THEIRS = ("ProfilerOptions", "client", "server")

__all__ = ["Profile", "Trace", "profile", "start", "step", "stop"]


class profile(CaptureBlock):
    """Records a trace between entering and leaving a `with` block.

    A profiler that is already recording is closed first, its trace is kept, and standard error says so. A trace that
    cannot be recorded or written does not end the program. `steps` is the number of recorded steps. `overhead` is their
    extra time as a share of unrecorded ones; None if there are fewer than three of either, or if noise explains it.

    Args:
        logdir: Folder to write to, as for TensorBoard: `<logdir>/plugins/profile/<time>/<host>.xplane.pb`.
        options: What to record, as `ProfilerOptions(host_tracer_level=2, python_tracer_level=0,
            device_tracer_level=1, delay_ms=None)` of TensorFlow.
        max_steps: Number of marked steps after which the recording stops.
        max_seconds: Seconds after which the recording stops.
        max_bytes: Size at which the recording stops: a number of bytes, or a size such as `"50MB"`. TensorFlow does
            not report how much it holds, so the growth of the process decides.

    >>> from stepscope.tensorflow import profile, step
    >>> def train(dataset, train_step):
    ...     with profile("logs/profiler", max_steps=10) as prof:
    ...         for number, (x, y) in enumerate(dataset):
    ...             with step(number):
    ...                 train_step(x, y)
    ...     print(prof.steps, prof.overhead)
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        options: Any = None,
        *,
        max_steps: int | None = None,
        max_seconds: float | None = None,
        max_bytes: int | str = DEFAULT_MAX_BYTES,
    ) -> None:
        super().__init__(recorder, logdir, options, Budget.of(max_bytes, max_steps, max_seconds))


#: The name that TensorFlow gives it.
Profile = profile


def start(
    logdir: str | os.PathLike[str],
    options: Any = None,
    *,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    max_bytes: int | str = DEFAULT_MAX_BYTES,
) -> None:
    """Starts recording a trace; `stop()` ends it. Closes a running one first and keeps its trace.

    Args:
        logdir: Folder to write to.
        options: What to record, as TensorFlow's `ProfilerOptions`.
        max_steps: Number of marked steps after which the recording stops.
        max_seconds: Seconds after which the recording stops.
        max_bytes: Size at which the recording stops, such as `"50MB"`.
    """
    recorder.start(logdir, options, Budget.of(max_bytes, max_steps, max_seconds))


def stop(save: bool = True) -> None:
    """Stops recording and writes the trace; if nothing is being recorded, says so.

    Args:
        save: Whether to keep the trace.
    """
    recorder.stop(is_kept=save)


class Trace:
    """Marks a block in the trace; with `step_num`, the block is a step.

    Args:
        name: Name of the block.
        kwargs: Metadata of the block: `step_num` is the number of a step. `_r=1` lets other viewers show it too.

    >>> from stepscope.tensorflow import Trace
    >>> def train(dataset, train_step):
    ...     for step, (x, y) in enumerate(dataset):
    ...         with Trace("train", step_num=step, _r=1):
    ...             train_step(x, y)
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._trace = _framework().Trace(name, **kwargs)
        self._block = MarkedStep(recorder, self._trace) if "step_num" in kwargs else self._trace

    def __enter__(self) -> Trace:
        self._block.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._block.__exit__(*error)

    def set_metadata(self, **kwargs: Any) -> None:
        """Adds metadata to the block after it began.

        Args:
            kwargs: Names and values.
        """
        self._trace.set_metadata(**kwargs)


def step(number: int, name: str = "train") -> Trace:
    """Marks a step in the trace, by its number: a `Trace` that other viewers show as a step too.

    Args:
        number: Number of the step.
        name: Name of the steps.
    """
    return Trace(name, step_num=number, _r=1)


@cache
def _framework() -> Any:
    try:
        return import_module("tensorflow").profiler.experimental
    except ImportError as error:
        hint = "pip install tensorflow"
        raise MissingPackageError("stepscope.tensorflow needs TensorFlow", None, hint) from error


def _start(logdir: str, options: Any) -> None:
    _framework().start(logdir, options)


def _stop() -> None:
    _framework().stop()


def _release() -> None:
    """TensorFlow forgets a session that fails to write."""


#: The captures of this process.
recorder = Recorder(FrameworkProfiler("TensorFlow", "stepscope.tensorflow", _start, _stop, _release))


if TYPE_CHECKING:
    ProfilerOptions: Any
else:

    def __getattr__(name: str) -> Any:
        """Returns any other name of `tf.profiler.experimental`, such as `ProfilerOptions`."""
        if name not in _THEIRS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(_framework(), name)
