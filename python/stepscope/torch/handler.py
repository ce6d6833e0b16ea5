"""What to pass as `on_trace_ready`."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepscope.saying import say
from stepscope.torch.capture import profile
from stepscope.torch.trace_file import write_whole


def trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, *, ingest: bool = False
) -> Callable[[Any], None]:
    """Writes each trace to `dir_name` under the name that TensorBoard looks for, whole or not at all.

    `ingest=True` reads the folder with the new trace into the cache at once, so that the first look at it is immediate;
    the program waits for that. What goes wrong there is said on standard error, and the program goes on.

    It also works with torch's own `profile`:

    >>> import torch.profiler
    >>> prof = torch.profiler.profile(on_trace_ready=trace_handler("runs/profiler", use_gzip=True))
    """

    def write_trace(prof: Any) -> None:
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        path = Path(dir_name) / f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        if isinstance(prof, profile):
            prof.export_chrome_trace(str(path))
        else:
            write_whole(path, lambda partial: prof.export_chrome_trace(str(partial)))
        if ingest:
            _ingest(path.parent)

    return write_trace


def _ingest(folder: Path) -> None:
    # People look at the folder, and the cache knows an answer by all its files.
    try:
        from stepscope.opening import open as open_run

        open_run(folder)
    except Exception as error:
        say(f"{folder} is written, but could not be ingested: {error}")
