"""Records the history of PyTorch's CUDA allocator and writes memory snapshots, which `stepscope memory` reads."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import torch

from stepscope.saying import say

__all__ = ["record_memory_history", "snapshot"]


def record_memory_history(enabled: Literal["state", "all"] | None = "all", **options: Any) -> bool:
    """Starts to record allocations and frees with their stacks; `enabled=None` ends it.

    Takes the options of `torch.cuda.memory._record_memory_history`, such as `max_entries` and `stacks`. Returns whether
    it records. Without a CUDA device it says so, and the program goes on.
    """
    if not torch.cuda.is_available():
        say("memory history is not recorded: there is no CUDA device")
        return False
    try:
        torch.cuda.memory._record_memory_history(enabled, **options)
    except (RuntimeError, TypeError) as error:
        say(f"memory history is not recorded: {error}")
        return False
    return enabled is not None


def snapshot(path: str | os.PathLike[str]) -> Path | None:
    """Writes the state of the allocator, and the history if it is recorded, whole or not at all.

    Returns the path; `None` where nothing could be written, which it says.
    """
    target = Path(path)
    if not torch.cuda.is_available():
        say("no memory snapshot is written: there is no CUDA device")
        return None
    dump: Any = torch.cuda.memory._dump_snapshot
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.unfinished")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        dump(str(unfinished))
        os.replace(unfinished, target)
    except (OSError, RuntimeError) as error:
        with suppress(OSError):
            unfinished.unlink()
        say(f"no memory snapshot is written: {error}")
        return None
    say(f"memory snapshot in {target}; open with: stepscope memory {target}")
    return target
