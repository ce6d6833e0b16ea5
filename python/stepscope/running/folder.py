"""Where the traces of a program go: a folder of their own, and one for all ranks of a job."""

from __future__ import annotations

import datetime
import hashlib
import os
import secrets
import socket
import string
import uuid
from pathlib import Path

_LETTERS = string.ascii_lowercase + string.digits


def traces_folder(output: str | Path, name: str) -> Path:
    """`runs/<name>_<date>_<id>/<uuid>/profiler_traces`: a new one with every call, but one for all ranks of a job."""
    day = datetime.date.today().isoformat()
    digest = hashlib.sha256(_job().encode() or secrets.token_bytes(32)).digest()
    run_id = "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:6])
    return Path(output) / f"{name}_{day}_{run_id}" / str(uuid.UUID(bytes=digest[16:], version=4)) / "profiler_traces"


def worker_name() -> str:
    """What the names of this program's traces begin with; the rank can be told from it if the trace does not say it."""
    return f"rank{os.environ['RANK']}" if _job() else f"{socket.gethostname()}_{os.getpid()}"


def _job() -> str:
    """What the ranks of a job have in common and other jobs have not; empty if this is not one of several ranks."""
    environment = os.environ
    ranks = environment.get("WORLD_SIZE", "1")
    if ranks == "1" or "RANK" not in environment:
        return ""
    names = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID")
    parts = [ranks, *(environment.get(name, "") for name in names)]
    if environment.get("LOCAL_WORLD_SIZE") == ranks:
        # All ranks are on this machine and have one parent. Without it, the next job might look the same.
        parts.append(str(os.getppid()))
    return "\n".join(parts)
