"""Prints messages on standard error."""

from __future__ import annotations

import os
import sys

__all__ = ["say"]


def say(message: str) -> None:
    """Prints one line, unless `STEPSCOPE_QUIET=1` is set. Never fails, even if standard error is closed."""
    if os.environ.get("STEPSCOPE_QUIET") == "1" or sys.stderr is None:
        return
    try:
        print(f"stepscope: {message}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass
