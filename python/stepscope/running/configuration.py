"""Combines the settings of a config file, keywords and `--profiling.*` options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stepscope.errors import UsageError

from .section import read_section
from .settings import Entry, Settings, settings_from

_PREFIX = "--profiling."


def take_options(arguments: Sequence[str]) -> tuple[list[Entry], list[str]]:
    """Removes `--profiling.KEY VALUE` and `--profiling.KEY=VALUE`, up to a `--`; returns them and the rest.

    >>> entries, rest = take_options(["--lr", "0.1", "--profiling.active", "2", "--", "--profiling.wait", "1"])
    >>> [(entry.key, entry.value) for entry in entries], rest
    ([('active', '2')], ['--lr', '0.1', '--', '--profiling.wait', '1'])
    """
    entries: list[Entry] = []
    rest: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--":
            rest += [argument, *remaining]
        elif argument.startswith(_PREFIX):
            key, has_value, value = argument[len(_PREFIX) :].partition("=")
            option = f"{_PREFIX}{key}"
            value = value if has_value else next(remaining, "--")
            if value == "" or value.startswith("--"):
                message = f"found no value after {option}, expected one"
                raise UsageError(message, f"option `{option}`", f"write it as `{option} VALUE`")
            entries.append(Entry(key, value, f"option `{option}`"))
        else:
            rest.append(argument)
    return entries, rest


def load(
    config: Path | None, overrides: Sequence[Entry], *, is_command: bool = True
) -> tuple[Settings | None, str]:
    """Returns the settings of the file with the overrides applied, or `None` and the reason why profiling is off."""
    section = read_section(config, "--config" if is_command else "config=") if config else []
    if section is None and not overrides:
        add = f"add one with `active: 3` in it, or pass {'--profiling.active 3' if is_command else 'active=3'}"
        return None, f"profiling is off: {config} has no `profiling` section with keys in it; {add}"
    return settings_from([*(section or []), *overrides]), ""
