"""Checks whether a worker of pytest-xdist has its cores for itself."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["why_not_alone"]


def why_not_alone(worker_count: int, processes: Path = Path("/proc")) -> str | None:
    """Returns why the times of this worker would include those of others; `None` if they do not.

    A worker is alone if it is the only one, or if no other worker may run on the cores it is pinned to.

    Args:
        worker_count: Number of workers of the session.
        processes: Folder of the processes, as Linux has it.
    """
    if worker_count <= 1:
        return None
    hint = "run with -n 1, or pin each worker to separate cores"
    workers = _workers(processes)
    if workers is None or len(workers) != worker_count:
        return f"the cores of {worker_count} workers are not known; {hint}"
    own = os.sched_getaffinity(0)
    try:
        others = [os.sched_getaffinity(worker) for worker in workers if worker != os.getpid()]
    except OSError:
        return f"the cores of {worker_count} workers are not known; {hint}"
    if any(own & other for other in others):
        return f"{worker_count} workers share cores; {hint}"
    return None


def _workers(processes: Path) -> list[int] | None:
    """Returns the processes that the controller started with the command of this one; `None` if that is not known."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    try:
        command = (processes / "self" / "cmdline").read_bytes()
        lists = [file.read_text() for file in (processes / str(os.getppid()) / "task").glob("*/children")]
        children = [int(child) for line in lists for child in line.split()]
        return [child for child in children if (processes / str(child) / "cmdline").read_bytes() == command]
    except OSError:
        return None
