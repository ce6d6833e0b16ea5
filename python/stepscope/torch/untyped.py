"""Torch's classes that ours extend: with types for type checkers, and without them at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.autograd.profiler_util
import torch.profiler

if TYPE_CHECKING:
    from stepscope.torch.averages import AverageRow

if TYPE_CHECKING:
    # Attributes of rows are set by functions without types, so they are listed where rows are made.
    TorchProfile = torch.profiler.profile
    TorchAverageRow = object
    TorchEventList = list["AverageRow"]
else:
    TorchProfile = torch.profiler.profile
    TorchAverageRow = torch.autograd.profiler_util.FunctionEventAvg
    TorchEventList = torch.autograd.profiler_util.EventList
