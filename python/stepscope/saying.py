"""What the package tells on standard error."""

from __future__ import annotations

import os
import sys

__all__ = ["say"]


def say(message: str) -> None:
    """One line, unless `STEPSCOPE_QUIET=1`."""
    if os.environ.get("STEPSCOPE_QUIET") != "1":
        print(f"stepscope: {message}", file=sys.stderr, flush=True)
