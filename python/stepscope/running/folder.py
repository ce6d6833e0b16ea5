"""Where the traces of a program go: a folder of their own, and one for all ranks of a job."""

from __future__ import annotations

import datetime
import hashlib
import os
import secrets
import socket
import uuid
from pathlib import Path

from stepscope.job import job_of_ranks, letters_of


def traces_folder(output: str | Path, name: str) -> Path:
    """`runs/<name>_<date>_<id>/<uuid>/profiler_traces`: a new one with every call, but one for all ranks of a job."""
    day = datetime.date.today().isoformat()
    digest = hashlib.sha256(job_of_ranks().encode() or secrets.token_bytes(32)).digest()
    return Path(output) / f"{name}_{day}_{letters_of(digest)}" / str(uuid.UUID(bytes=digest[16:], version=4)) / "profiler_traces"


def worker_name() -> str:
    """What the names of this program's traces begin with; the rank can be told from it if the trace does not say it."""
    return f"rank{os.environ['RANK']}" if job_of_ranks() else f"{socket.gethostname()}_{os.getpid()}"
