"""Writes traces: what to pass as `on_trace_ready`."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepscope.captured import readable_size
from stepscope.errors import UsageError
from stepscope.saying import say
from stepscope.torch.trace_file import free_bytes, write_whole
from stepscope.torch.uploading import Uploader

# The smallest trace of a real step is larger.
_LEAST_FREE_BYTES = 64_000
# JSON of traces shrinks to about this part.
_GZIP_SHARE = 0.1


def trace_handler(
    dir_name: str | os.PathLike[str],
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
    *,
    ingest: bool = False,
    store: str | None = None,
    run: str | None = None,
    depth: str = "full",
) -> Callable[[Any], None]:
    """Returns a handler that writes each trace to a folder, under the name that TensorBoard expects.

    Writes a trace completely or not at all. A trace that cannot be written does not end the program: standard error
    reports why, once. A folder that is read-only or full is reported when the handler is created.

    Args:
        dir_name: Folder to write traces to; created if it does not exist.
        worker_name: First part of the file names; host name and process id by default.
        use_gzip: Compress traces.
        use_python_export: Let torch export the trace in Python.
        ingest: Read the folder into the cache after each trace, so that it opens at once. The program waits for it;
            standard error reports what goes wrong.
        store: Upload each trace to this store in a bucket, such as `s3://bucket/prefix`, in a process beside the
            program. The program never waits for it and never fails because of it. What cannot be uploaded waits in
            a spool on local disk: `stepscope store spool` shows it.
        run: Name of the run in the store, the same on all ranks. By default that of the job: `$STEPSCOPE_RUN`,
            `$TORCHELASTIC_RUN_ID` or `$SLURM_JOB_ID`, else the name of the folder.
        depth: Upload every event (`full`), or sums by step alone (`sums`).

    It also works with torch's own `profile`:

    >>> import torch.profiler
    >>> prof = torch.profiler.profile(on_trace_ready=trace_handler("runs/profiler", use_gzip=True))
    """
    options = {"use_python_export": True} if use_python_export else {}
    uploader = Uploader(Path(dir_name), os.fspath(store), run, depth) if store is not None else None
    return TraceWriter(
        os.fspath(dir_name), worker_name, use_gzip=use_gzip, ingest=ingest, uploader=uploader, options=options
    )


class TraceWriter:
    """Writes the traces of one profiler to one folder."""

    #: Reason why the last trace could not be written.
    failure: str | None = None

    def __init__(
        self,
        folder: str,
        worker_name: str | None,
        *,
        use_gzip: bool = False,
        ingest: bool = False,
        uploader: Uploader | None = None,
        options: dict[str, bool] | None = None,
        is_failure_said: bool = True,
    ) -> None:
        self._folder = Path(folder)
        self._worker_name = worker_name
        self._ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        self._ingest = ingest
        self._uploader = uploader
        self._options = options or {}
        self._is_failure_said = is_failure_said
        self._is_trouble_said = False
        if trouble := self._trouble_ahead():
            self._say(f"cannot write traces to {folder}: {trouble}; the program continues")

    def __call__(self, prof: Any) -> None:
        worker = self._worker_name or f"{socket.gethostname()}_{os.getpid()}"
        path = self._folder / f"{worker}.{time.time_ns()}{self._ending}"
        try:
            self._write(prof, path)
        except Exception as error:
            self.failure = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            if self._is_failure_said:
                self._say(f"no trace was written to {self._folder}: {self.failure}; the program continues")
            return
        self.failure = None
        if self._ingest:
            _ingest(path.parent)
        if self._uploader is not None:
            self._uploader.start(path)

    def expect(self, size_bytes: float) -> None:
        """Checks the expected size of a trace, and reports it if the disk has too little space."""
        size_bytes *= _GZIP_SHARE if self._ending.endswith(".gz") else 1
        free = self._free_bytes()
        if free is not None and free < size_bytes:
            space = f"{readable_size(free)} free, a trace will take about {readable_size(size_bytes)}"
            self._say(f"the next trace will not fit into {self._folder}: {space}; the program continues")

    def _write(self, prof: Any, path: Path) -> None:
        from stepscope.torch.capture import profile

        if isinstance(prof, profile):
            prof.export_chrome_trace(str(path), **self._options)
        else:
            write_whole(path, lambda partial: prof.export_chrome_trace(str(partial), **self._options))

    def _trouble_ahead(self) -> str | None:
        """Returns why the folder cannot take a trace, as far as that is known without writing to it."""
        place = self._folder.absolute()
        while not os.path.lexists(place) and place != place.parent:
            place = place.parent
        if not place.is_dir():
            return f"not a folder: {place}"
        if not os.access(place, os.W_OK | os.X_OK):
            return f"no permission to write: {place}"
        free = self._free_bytes()
        return None if free is None or free >= _LEAST_FREE_BYTES else f"no space left, only {readable_size(free)}"

    def _free_bytes(self) -> int | None:
        try:
            return free_bytes(self._folder.absolute())
        except OSError:
            return None

    def _say(self, message: str) -> None:
        # Of the same trouble, once is enough.
        if not self._is_trouble_said:
            self._is_trouble_said = True
            say(message)


def _ingest(folder: Path) -> None:
    # People look at the folder, and the cache knows an answer by all its files.
    try:
        from stepscope.opening import open as open_run

        open_run(folder)
    except UsageError:
        pass  # The folder holds several runs, all ingested by now, and none was asked for.
    except Exception as error:
        say(f"the trace was written but could not be ingested: {folder}: {error}")
