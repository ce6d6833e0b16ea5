"""What the package tells on standard error."""

from __future__ import annotations

import os
import sys

__all__ = ["say"]


def say(message: str) -> None:
    """One line, unless `STEPSCOPE_QUIET=1`; a standard error that is closed or gone is no reason to fail."""
    if os.environ.get("STEPSCOPE_QUIET") == "1" or sys.stderr is None:
        return
    try:
        print(f"stepscope: {message}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass
