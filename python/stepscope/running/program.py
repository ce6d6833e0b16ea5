"""What a program calls itself: `stepscope.configure()` switches profiling on, `stepscope.step()` ends a step."""

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
        """The keys of the `profiling:` section."""

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
    """Records this program from here on, as `stepscope run` does; the traces are written when it ends.

    The keys of the `profiling:` section come as keywords, from the YAML file `config`, or from the `--profiling.*`
    options among `arguments`; options come before keywords, keywords before the file. Gives the arguments that are
    left, for the program's own parser. With nothing but arguments, profiling is on only if they hold such an option.

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
        say("this program is recorded already, so configure() changes nothing")
    elif is_wanted:
        name = Path(config or sys.argv[0] or "python").stem.strip("-") or "python"
        begin(settings, traces_folder(output, name), "")
    return rest


def step(samples: int | None = None) -> None:
    """Ends a step that worked on so many samples, for a program whose steps are not those of an optimizer.

    Does nothing if nothing is recorded. With samples, `steps` and `summary` show the throughput.
    """
    samples = optional(whole_number, "samples", samples)
    if _recording is not None and _recording.counter is not None:
        _recording.counter.step_called(samples)


def begin(settings: Settings, folder: Path, option_prefix: str) -> Recording:
    """Starts the one recording of this process; the prefix is what the user gives its settings with."""
    global _recording
    _recording = Recording(settings, folder, option_prefix)
    _recording.start()
    return _recording
