"""Measures time and memory per source line: `stepscope lines script.py`, or inside a program.

>>> import stepscope.lines
>>> def slow_sum(count):
...     total = 0
...     for number in range(count):
...         total += number
...     return total
>>> with stepscope.lines.profile() as profiler:
...     _ = slow_sum(100)
>>> [(row.line_number, row.hits) for row in profiler.result() if row.function == "slow_sum"]
[(2, 1), (3, 101), (4, 100), (5, 1)]
"""

from __future__ import annotations

from .profiler import LineProfiler, profile
from .result import LineProfile, LineRow

__all__ = ["LineProfile", "LineProfiler", "LineRow", "profile"]
