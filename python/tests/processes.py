"""Programs that the tests run as their users do, each in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def notes(self) -> list[str]:
        """What Stepscope said."""
        return [line for line in self.err.splitlines() if line.startswith("stepscope: ")]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", **more}


def run(folder: Path, code: str, *arguments: str, **more: str) -> Ended:
    """Runs a script to its end."""
    (folder / "train.py").write_text(code, encoding="utf-8")
    return run_command(folder, [sys.executable, "train.py", *arguments], **more)


def run_command(folder: Path, command: list[str], **more: str) -> Ended:
    process = subprocess.run(
        command, cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=120
    )
    return Ended(process.returncode, process.stdout, process.stderr)


def signaled(folder: Path, command: list[str], *signals: tuple[str, signal.Signals], **more: str) -> Ended:
    """Runs a command, and sends it a signal each time that it prints a word."""
    with (folder / "stderr.txt").open("w+") as errors:
        process: Any = subprocess.Popen(
            command, cwd=folder, env=environment(**more), stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            said = ""
            for word, number in signals:
                while word not in said:
                    line = process.stdout.readline()
                    assert line, f"it ended before it said {word}"
                    said += line
                said = ""
                time.sleep(0.05)
                process.send_signal(number)
            rest = process.communicate(timeout=60)[0]
        finally:
            process.kill()
        errors.seek(0)
        return Ended(process.returncode, rest, errors.read())


@contextmanager
def small_disk(folder: Path, size: str = "8k") -> Iterator[Path]:
    """A file system with hardly any room; skips the test where nobody may mount one."""
    folder.mkdir()
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def traces(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.pt.trace.json*"))


def mentions(notes: list[str], pattern: str) -> list[str]:
    return [note for note in notes if re.search(pattern, note)]
