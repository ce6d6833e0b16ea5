"""Identifies the job that a process belongs to."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import socket
import string

__all__ = ["job_of_ranks", "letters_of", "run_id"]

_LETTERS = string.ascii_lowercase + string.digits
# How launchers other than torchrun tell a process that it is one of several.
_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


def job_of_ranks() -> str:
    """Returns a name that all ranks of this job share and other jobs do not; empty for a single process."""
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


def run_id(processes: int) -> str | None:
    """Returns an id that separates the traces of this run from those of other runs in the same folder.

    `processes` is the number of processes of the job, as far as this one knows. Returns None if it is not known which
    processes of other machines or launchers belong together, so that one job is never split.
    """
    if job := job_of_ranks():
        return letters_of(job)
    if processes > 1 or any(os.environ.get(name, "1") != "1" for name in _SIZES):
        return None
    parent = multiprocessing.parent_process()
    process_id = os.getpid() if parent is None else parent.pid
    return letters_of(f"{socket.gethostname()} {process_id} {_start_of(process_id)}")


def letters_of(text: str | bytes) -> str:
    """Returns six letters and digits that follow from a string or a digest."""
    digest = hashlib.sha256(text.encode()).digest() if isinstance(text, str) else text
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:6])


def _start_of(process_id: int | None) -> str:
    """Returns when a process started; process ids are reused, soon in containers."""
    try:
        with open(f"/proc/{process_id}/stat", encoding="ascii", errors="replace") as numbers:
            return numbers.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
