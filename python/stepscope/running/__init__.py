"""Profiles an unmodified program: `stepscope run train.py`, or `stepscope.configure()` inside it.

Nothing here imports torch: the recording begins when the program imports it.
"""

from __future__ import annotations

from .command import main
from .program import configure, step

__all__ = ["configure", "main", "step"]
