"""What the tests of capture with TensorFlow, Keras and JAX share: reading back what was recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stepscope

CORPUS = os.environ.get("STEPSCOPE_CORPUS")
needs_corpus = pytest.mark.skipif(CORPUS is None, reason="STEPSCOPE_CORPUS is not set")

RUN = "import sys; from stepscope.running import main; sys.exit(main(sys.argv[1:]))"


def traces(logdir: Path) -> list[Path]:
    """The traces below a log folder, in the order of their runs; nothing else may be left there."""
    assert not [path for path in logdir.iterdir() if path.name.startswith(".")], "something was left behind"
    return sorted(logdir.glob("plugins/profile/*/*.xplane.pb"))


def steps_of(trace: Path) -> list[str]:
    """The names of the marked steps of a trace, as the reference reader and Stepscope itself read them."""
    names = _steps_by_reference(trace)
    rows = stepscope.open(trace).sql("SELECT name, source FROM steps ORDER BY start_ns").to_pylist()
    assert [row["name"] for row in rows if row["source"] == "step_num"] == names
    return names


def _steps_by_reference(trace: Path) -> list[str]:
    if CORPUS is None:
        pytest.skip("STEPSCOPE_CORPUS is not set")
    reader = Path(CORPUS) / "oracles" / "formats" / "xplane.py"
    read = subprocess.run([sys.executable, reader, trace], check=True, capture_output=True, text=True)
    document: dict[str, Any] = json.loads(read.stdout)
    if document["step_source"] != "step_num":
        return []
    assert document["step_count"] == len(document["steps"])
    return [step["name"] for step in document["steps"]]


class Ended:
    """A script that has ended: its exit code, its output, and what Stepscope printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err
        self.notes = [line.removeprefix("stepscope: ") for line in err.splitlines() if line.startswith("stepscope: ")]


def run_script(folder: Path, script: str, *, under_stepscope_run: bool = False, **environment: str) -> Ended:
    """Runs a script in a process of its own, plainly or with `stepscope run`."""
    (folder / "script.py").write_text(script)
    command = [sys.executable, *(["-c", RUN] if under_stepscope_run else []), "script.py"]
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=quiet, timeout=300)
    return Ended(ended.returncode, ended.stdout, ended.stderr)
