"""The tools: how each one reads a trace and answers how many kernels ran, and for how long."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

from . import peers
from .traces import Trace

RUNNERS = Path(__file__).parents[1] / "peers"
QUERY = """
    SELECT count(*) AS events,
           count(*) FILTER (WHERE kind = 'kernel') AS kernels,
           sum(dur_ns) FILTER (WHERE kind = 'kernel') AS kernel_ns
    FROM spans
"""


class Tool:
    """A tool that is not measured."""

    name = "TraceLens"
    version = "–"
    does = "not measured, as no package registry has it"
    is_measured = False

    def record(self) -> dict[str, str]:
        """Gives what the JSON has about it."""
        return {"name": self.name, "version": self.version, "does": self.does}

    def command(self, trace: Trace, scratch: Path) -> list[str]:
        """Gives the command that reads the trace and prints the answer."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Gives the variables that it needs."""
        return {}

    def forget(self) -> None:
        """Deletes what it keeps between two processes."""

    def answer(self, output: str) -> dict[str, int]:
        """Reads events, kernels and their time from what it printed."""
        return json.loads(output.splitlines()[-1])


class Stepscope(Tool):
    """The `stepscope` command."""

    name = "Stepscope"
    does = "parses, links, derives steps, writes a store; the second answer reads it"
    is_measured = True

    def __init__(self, program: Path, cache: Path) -> None:
        self._program = program
        self._cache = cache
        printed = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
        self.version = printed.split()[1]

    def command(self, trace: Trace, scratch: Path) -> list[str]:
        path = trace.files[0] if len(trace.files) == 1 else trace.files[0].parent
        limit = trace.plan.stepscope_limit
        options = ["--memory-limit", limit] if limit else []
        return [str(self._program), "sql", str(path), QUERY, "--quiet", "--format", "json", *options]

    def environment(self) -> dict[str, str]:
        return {"STEPSCOPE_CACHE": str(self._cache)}

    def forget(self) -> None:
        shutil.rmtree(self._cache, ignore_errors=True)

    def answer(self, output: str) -> dict[str, int]:
        return json.loads(output)["rows"][0]


class Perfetto(Tool):
    """Perfetto's trace processor as wasm, in Node."""

    name = "Perfetto trace processor"
    does = "parses into tables in memory; reads ranks from one tar file"
    is_measured = True

    def __init__(self, installed: Path) -> None:
        self._engine = peers.perfetto_engine(installed)
        node = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout.strip()
        self.version = f"{self._engine.name.split('-')[0]} (wasm, Node {node})"

    def command(self, trace: Trace, scratch: Path) -> list[str]:
        file = trace.files[0]
        if len(trace.files) > 1:
            file = scratch / "ranks.tar"
            # It rejects the extended headers that are Python's default.
            with tarfile.open(file, "w", format=tarfile.USTAR_FORMAT, dereference=True) as archive:
                for rank in trace.files:
                    archive.add(rank, rank.name)
        return ["node", str(RUNNERS / "load_perfetto.mjs"), str(self._engine), str(file)]


class FolderTool(Tool):
    """A Python package that reads a folder with one trace per rank."""

    is_measured = True

    def __init__(self, name: str, package: str, does: str, python: Path, runner: str) -> None:
        self.name, self.does = name, does
        self._python, self._runner = python, RUNNERS / runner
        asked = f"import platform, importlib.metadata as m; print(m.version({package!r}), platform.python_version())"
        printed = subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout
        self.version = "{} (Python {})".format(*printed.split())

    def command(self, trace: Trace, scratch: Path) -> list[str]:
        return [str(self._python), str(self._runner), str(_linked(trace, scratch / "traces"))]


def tools(stepscope: Path, installed: Path, scratch: Path) -> list[Tool]:
    """All tools, in the order of the table."""
    return [
        Stepscope(stepscope, scratch / "cache"),
        Perfetto(installed),
        FolderTool(
            "HTA",
            "HolisticTraceAnalysis",
            "parses into data frames, links kernels, aligns ranks",
            installed / "hta" / "bin" / "python",
            "load_hta.py",
        ),
        FolderTool(
            "TensorBoard plugin",
            "torch-tb-profiler",
            "parses, builds all of its views",
            installed / "tensorboard" / "bin" / "python",
            "load_tensorboard.py",
        ),
        Tool(),
    ]


def _linked(trace: Trace, folder: Path) -> Path:
    """A folder with one link per rank, named as the TensorBoard plugin expects."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for rank, file in enumerate(trace.files):
        ending = ".json.gz" if file.suffix == ".gz" else ".json"
        (folder / f"worker_{rank}.pt.trace{ending}").symlink_to(file.resolve())
    return folder
