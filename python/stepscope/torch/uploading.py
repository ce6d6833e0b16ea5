"""Uploads traces to a store in a bucket, in a process beside the program, which never waits for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from stepscope.errors import UsageError
from stepscope.saying import say

# Programs that start the ranks of a job give all of them the same name of it.
_NAMES_OF_JOBS = ("STEPSCOPE_RUN", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID")
# What the processes say. Hidden, so that it does not lie among the traces.
_LOG = ".stepscope-upload.log"


class Uploader:
    """Starts a process for each trace. It reads the trace, keeps the result on local disk, and uploads it."""

    def __init__(self, folder: Path, store: str, run: str | None, depth: str) -> None:
        if "://" not in store:
            raise UsageError(f'found {store!r} as store, expected a bucket such as "s3://bucket/prefix"')
        if depth not in ("full", "sums"):
            raise UsageError(f'found {depth!r} as depth, expected "full" or "sums"')
        self._folder = folder
        self._options = ["--store", store, "--run", run or _name_of_job() or folder.absolute().name, "--depth", depth]
        self._processes: list[subprocess.Popen[bytes]] = []
        self._is_trouble_said = False

    def start(self, trace: Path) -> None:
        """Starts the upload of a trace. Whatever goes wrong, the program continues."""
        # A process that has ended must be asked for its exit code once.
        self._processes = [process for process in self._processes if process.poll() is None]
        command = [sys.executable, "-m", "stepscope", "ingest", str(trace), *self._options, "--background", "--quiet"]
        if nice := shutil.which("nice"):
            command = [nice, "-n", "10", *command]
        try:
            with open(self._folder / _LOG, "ab") as log:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    # Ctrl-C and the end of the program are not the end of the upload.
                    start_new_session=True,
                    close_fds=True,
                )
        except OSError as error:
            if not self._is_trouble_said:
                self._is_trouble_said = True
                say(f"the trace was written but cannot be uploaded: {trace}: {error}; the program continues")
            return
        self._processes.append(process)

    def __del__(self) -> None:
        # They go on without this program. Without this Python would warn about them.
        for process in getattr(self, "_processes", ()):
            process.returncode = process.poll() or 0


def _name_of_job() -> str | None:
    names = (os.environ.get(variable) for variable in _NAMES_OF_JOBS)
    return next((name for name in names if name and name != "none"), None)
