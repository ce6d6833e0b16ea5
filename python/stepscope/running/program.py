"""Calls for a program to make: `stepscope.configure()` starts profiling, `stepscope.step()` ends a step."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.saying import say
from stepscope.values import optional, whole_number

from .configuration import load, take_options
from .folder import traces_folder
from .recording import Recording
from .settings import Entry, Settings

if TYPE_CHECKING:
    from typing import TypedDict

    from typing_extensions import Unpack

    class Profiling(TypedDict, total=False):
        """Keys of the `profiling:` section."""

        wait: int
        warmup: int
        active: int
        repeat: int
        record_shapes: bool
        profile_memory: bool
        with_stack: bool
        with_flops: bool
        with_modules: bool
        unit: str
        max_bytes: int | str


_recording: Recording | None = None


def configure(
    *,
    config: str | Path | None = None,
    arguments: Sequence[str] | None = None,
    output: str | Path = "runs",
    **profiling: Unpack[Profiling],
) -> list[str]:
    """Records this program from this call on, as `stepscope run` does, and writes the traces when it ends.

    Settings come from three places: `--profiling.*` options override keywords, and keywords override the file.

    Args:
        config: YAML file with a top-level `profiling:` section.
        arguments: Command-line arguments to take `--profiling.*` options from. If nothing else is passed, profiling
            is on only if they hold such an option.
        output: Folder to write traces to.
        wait: Epochs or steps to skip first.
        warmup: Epochs or steps to warm up the profiler with; not saved.
        active: Epochs or steps to record.
        repeat: How often to repeat the cycle; 0 repeats until the program ends.
        record_shapes: Record the shapes of tensors.
        profile_memory: Record memory allocations.
        with_stack: Record the source line that called each operator; slow.
        with_flops: Estimate the FLOPs of operators.
        with_modules: Record the module hierarchy.
        unit: What to count: `"epochs"` or `"steps"`.
        max_bytes: Size that all traces together may reach, such as `"20MB"`.

    Returns:
        The arguments without `--profiling.*` options, for the program's own parser.

    Raises:
        UsageError: A key or a value is wrong, or the file cannot be read.

    Examples:

        stepscope.configure(wait=1, active=3, unit="steps")
        stepscope.configure(config="train.yaml")
        args = parser.parse_args(stepscope.configure(arguments=sys.argv[1:]))
    """
    options, rest = take_options(arguments or [])
    keywords = [
        Entry(key, str(value), f"configure({key}={value!r})", isinstance(value, str))
        for key, value in profiling.items()
    ]
    is_wanted = bool(config or options or keywords or arguments is None)
    section = Path(config) if config else None
    settings, why_off = load(section, [*keywords, *options], is_command=False)
    if settings is None:
        say(why_off)
    elif is_wanted and _recording is not None:
        say("configure() changes nothing: this program is already being recorded")
    elif is_wanted:
        name = Path(config or sys.argv[0] or "python").stem.strip("-") or "python"
        begin(settings, traces_folder(output, name), "")
    return rest


def step(samples: int | None = None) -> None:
    """Ends a step, for a program whose steps are not optimizer steps. Does nothing if nothing is recorded.

    Args:
        samples: Samples that the step worked on; `steps` and `summary` then show the throughput.
    """
    samples = optional(whole_number, "samples", samples)
    if _recording is not None and _recording.counter is not None:
        _recording.counter.step_called(samples)


def begin(settings: Settings, folder: Path, option_prefix: str) -> Recording:
    """Starts the one recording of this process; messages name its settings with the prefix."""
    global _recording
    _recording = Recording(settings, folder, option_prefix)
    _recording.start()
    return _recording
