"""Reads and writes the file of saved runs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from stepscope.errors import OutputError, UsageError
from stepscope.whole_file import write_whole

__all__ = ["Baseline", "append_run", "machine", "read_baseline"]

SCHEMA = "stepscope.pytest/1"

#: Values in seconds, by test and name.
Values = Mapping[str, Mapping[str, list[float]]]

#: How people call the fields of a machine.
_FIELDS = {"host": "host", "platform": "platform", "cpu_count": "number of CPUs", "python": "Python"}


@dataclass(frozen=True)
class Baseline:
    """Holds the saved runs of a file, oldest first."""

    runs: list[dict[str, Any]]

    def series(self, test: str, name: str) -> list[list[float]]:
        """Returns the values of a measured block, one list per run that has it."""
        return [run["values"][test][name] for run in self.runs if name in run["values"].get(test, {})]

    def differences(self, test: str, name: str) -> list[str]:
        """Describes in what this machine differs from those that saved the block, one sentence per field."""
        here = machine()
        runs = [run["machine"] for run in self.runs if name in run["values"].get(test, {})]
        found = []
        for field, label in _FIELDS.items():
            others = sorted({str(run[field]) for run in runs if run.get(field) not in (None, here[field])})
            if others:
                found.append(f"saved with another {label}: {', '.join(others)}; now {here[field]}")
        return found


def machine() -> dict[str, Any]:
    """Returns what a run is saved with, to report when it is compared with one of another machine."""
    return {
        "host": platform.node(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu_count": os.cpu_count(),
        "python": platform.python_version(),
    }


def read_baseline(path: Path) -> Baseline:
    """Reads the saved runs; none if the file does not exist.

    Raises:
        UsageError: The file is something else.
    """
    hint = "pytest --stepscope-save writes such a file"
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Baseline([])
    except (OSError, ValueError) as error:
        raise UsageError(f"the saved runs cannot be read: {error}", str(path), hint) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise UsageError(f"expected the schema {SCHEMA}, found: {schema}", str(path), hint)
    runs = document.get("runs")
    if not isinstance(runs, list) or not all(map(_is_run, runs)):
        raise UsageError("saved runs: expected a list of runs with values by test and name", str(path), hint)
    return Baseline(runs)


def append_run(path: Path, values: Values) -> int:
    """Adds a run to the file, whole or not at all, and returns how many runs it has then.

    Raises:
        OutputError: The file cannot be written.
        UsageError: The file is something else.
    """
    saved_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    runs = [*read_baseline(path).runs, {"saved_at": saved_at, "machine": machine(), "values": values}]
    document = {"schema": SCHEMA, "unit": "s", "runs": runs}
    try:
        write_whole(path, json.dumps(document, allow_nan=False) + "\n")
    except OSError as error:
        hint = "pass a file in a folder that pytest may write to"
        raise OutputError(f"the run cannot be saved: {error.strerror}", str(path), hint) from error
    return len(runs)


def _is_run(run: Any) -> bool:
    if not isinstance(run, dict) or not isinstance(run.get("values"), dict) or not isinstance(run.get("machine"), dict):
        return False
    tests = run["values"].values()
    if not all(isinstance(names, dict) for names in tests):
        return False
    series = [values for names in tests for values in names.values()]
    return all(isinstance(values, list) and all(map(_is_number, values)) for values in series)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
