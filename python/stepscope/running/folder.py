"""Chooses the folder for the traces of a program: a new one per run, shared by all ranks of a job."""

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
    """Returns `runs/<name>_<date>_<id>/<uuid>/profiler_traces`: new with each call, but one for all ranks of a job."""
    day = datetime.date.today().isoformat()
    digest = hashlib.sha256(job_of_ranks().encode() or secrets.token_bytes(32)).digest()
    return Path(output) / f"{name}_{day}_{letters_of(digest)}" / str(uuid.UUID(bytes=digest[16:], version=4)) / "profiler_traces"


def worker_name() -> str:
    """Returns the prefix of this program's trace names; it shows the rank if the trace itself does not."""
    return f"rank{os.environ['RANK']}" if job_of_ranks() else f"{socket.gethostname()}_{os.getpid()}"
