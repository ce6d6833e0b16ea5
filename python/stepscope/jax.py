"""Records JAX traces within a capture budget, with the names of `jax.profiler`.

To use it, change `jax.profiler` to `stepscope.jax` in a script. JAX's own profiler records; `stepscope open logs` shows
what it wrote.

    import stepscope.jax

    with stepscope.jax.profile("logs/profiler"):
        for number, batch in enumerate(batches):
            with stepscope.jax.step(number):
                params = update(params, batch)
                jax.block_until_ready(params)

Imports JAX when it is first used.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stepscope.errors import MissingPackageError
from stepscope.xplane_capture import DEFAULT_MAX_BYTES, Budget, CaptureBlock, FrameworkProfiler, MarkedStep, Recorder

#: Names that are JAX's own.
_THEIRS = (
    "ProfileData",
    "ProfileEvent",
    "ProfileOptions",
    "ProfilePlane",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "register_subprocess",
    "save_device_memory_profile",
    "start_server",
    "stop_server",
)

__all__ = ["StepTraceAnnotation", "profile", "start", "start_trace", "step", "stop", "stop_trace", "trace"]


class profile(CaptureBlock):
    """Records a trace between entering and leaving a `with` block.

    A profiler that is already recording is closed first, its trace is kept, and standard error says so. A trace that
    cannot be recorded or written does not end the program. `steps` is the number of recorded steps. `overhead` is their
    extra time as a share of unrecorded ones; None if there are fewer than three of either, or if noise explains it.

    Args:
        log_dir: Folder to write to, as for TensorBoard: `<log_dir>/plugins/profile/<time>/<host>.xplane.pb`.
        create_perfetto_link: Let JAX serve the trace to Perfetto; the program waits until it is opened.
        create_perfetto_trace: Let JAX write `perfetto_trace.json.gz` too.
        profiler_options: What to record, as `ProfileOptions()` of JAX: `host_tracer_level`, `python_tracer_level`,
            `advanced_configuration` and others.
        max_steps: Number of marked steps after which the recording stops.
        max_seconds: Seconds after which the recording stops.
        max_bytes: Size at which the recording stops: a number of bytes, or a size such as `"50MB"`. JAX does not
            report how much it holds, so the growth of the process decides.

    >>> from stepscope.jax import profile, step
    >>> def train(batches, train_step):
    ...     with profile("logs/profiler", max_steps=10) as prof:
    ...         for number, batch in enumerate(batches):
    ...             with step(number):
    ...                 train_step(batch).block_until_ready()
    ...     print(prof.steps, prof.overhead)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
        profiler_options: Any = None,
        *,
        max_steps: int | None = None,
        max_seconds: float | None = None,
        max_bytes: int | str = DEFAULT_MAX_BYTES,
    ) -> None:
        options = _options(create_perfetto_link, create_perfetto_trace, profiler_options)
        super().__init__(recorder, log_dir, options, Budget.of(max_bytes, max_steps, max_seconds))


#: The name that JAX gives it.
trace = profile


def start(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
    *,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    max_bytes: int | str = DEFAULT_MAX_BYTES,
) -> None:
    """Starts recording a trace; `stop()` ends it. Closes a running one first and keeps its trace.

    Args:
        log_dir: Folder to write to.
        create_perfetto_link: Let JAX serve the trace to Perfetto; the program waits until it is opened.
        create_perfetto_trace: Let JAX write `perfetto_trace.json.gz` too.
        profiler_options: What to record, as JAX's `ProfileOptions`.
        max_steps: Number of marked steps after which the recording stops.
        max_seconds: Seconds after which the recording stops.
        max_bytes: Size at which the recording stops, such as `"50MB"`.
    """
    options = _options(create_perfetto_link, create_perfetto_trace, profiler_options)
    recorder.start(log_dir, options, Budget.of(max_bytes, max_steps, max_seconds))


def stop() -> None:
    """Stops recording and writes the trace; if nothing is being recorded, says so."""
    recorder.stop()


#: The names that JAX gives them.
start_trace, stop_trace = start, stop


class StepTraceAnnotation:
    """Marks a step in the trace.

    JAX returns from a call before the device is done. Wait inside the block, with `block_until_ready()`, so that the
    step holds its own work.

    Args:
        name: Name of the steps.
        kwargs: Metadata of the step: `step_num` is its number.

    >>> from stepscope.jax import StepTraceAnnotation
    >>> def train(batches, train_step):
    ...     for number, batch in enumerate(batches):
    ...         with StepTraceAnnotation("train", step_num=number):
    ...             train_step(batch).block_until_ready()
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._annotation = _framework().StepTraceAnnotation(name, **kwargs)
        self._block: MarkedStep | None = None

    def __enter__(self) -> StepTraceAnnotation:
        self._block = MarkedStep(recorder, self._annotation)
        self._block.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._block is not None:
            self._block.__exit__(*error)


def step(number: int, name: str = "train") -> StepTraceAnnotation:
    """Marks a step in the trace, by its number.

    Args:
        number: Number of the step.
        name: Name of the steps.
    """
    return StepTraceAnnotation(name, step_num=number)


def _options(create_perfetto_link: bool, create_perfetto_trace: bool, profiler_options: Any) -> dict[str, Any]:
    """Returns the arguments of JAX's `start_trace`; versions without a default do not get it."""
    given = {
        "create_perfetto_link": create_perfetto_link,
        "create_perfetto_trace": create_perfetto_trace,
        "profiler_options": profiler_options,
    }
    return {name: value for name, value in given.items() if value}


@cache
def _framework() -> Any:
    try:
        return import_module("jax").profiler
    except ImportError as error:
        raise MissingPackageError("stepscope.jax needs JAX", None, "pip install jax") from error


def _start(log_dir: str, options: Any) -> None:
    _framework().start_trace(log_dir, **options)


def _stop() -> None:
    _framework().stop_trace()


def _release() -> None:
    """Frees the session. JAX holds on to one that fails to write, and would never start another."""
    try:
        import_module("jax._src.profiler")._profile_state.reset()
    except (ImportError, AttributeError):
        pass  # Private names: some version may not have them.


#: The captures of this process.
recorder = Recorder(FrameworkProfiler("JAX", "stepscope.jax", _start, _stop, _release))


if TYPE_CHECKING:
    ProfileOptions: Any
    TraceAnnotation: Any
else:

    def __getattr__(name: str) -> Any:
        """Returns any other name of `jax.profiler`, such as `ProfileOptions` and `TraceAnnotation`."""
        if name not in _THEIRS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(_framework(), name)
