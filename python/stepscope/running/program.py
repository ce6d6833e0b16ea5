"""What a program calls itself: `stepscope.configure()` switches profiling on, `stepscope.step()` ends a step."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Sequence
from pathlib import Path

from stepscope.saying import say

from .configuration import load, take_options
from .folder import traces_folder
from .recording import Recording
from .settings import Entry, Settings

_recording: Recording | None = None


def configure(
    *,
    config: str | Path | None = None,
    arguments: Sequence[str] | None = None,
    output: str | Path = "runs",
    **profiling: int | bool | str,
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
    settings, why_off = load(Path(config) if config else None, [*keywords, *options])
    if settings is None:
        say(why_off)
    elif is_wanted and _recording is not None:
        say("this program is recorded already, so configure() changes nothing")
    elif is_wanted:
        name = Path(config or sys.argv[0] or "python").stem.strip("-") or "python"
        atexit.register(begin(settings, traces_folder(output, name)).finish)
    return rest


def step(samples: int | None = None) -> None:
    """Ends a step that worked on so many samples, for a program whose steps are not those of an optimizer.

    Does nothing if nothing is recorded. With samples, `steps` and `summary` show the throughput.
    """
    if _recording is not None and _recording.counter is not None:
        _recording.counter.step_called(samples)


def begin(settings: Settings, folder: Path) -> Recording:
    """Starts the one recording of this process."""
    global _recording
    _recording = Recording(settings, folder)
    _recording.start()
    return _recording
