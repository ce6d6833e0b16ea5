"""Torch's classes that ours build upon, without types: its annotations differ from version to version."""

from __future__ import annotations

from typing import Any

import torch.autograd.profiler_util
import torch.profiler

TorchProfile: Any = torch.profiler.profile
TorchAverageRow: Any = torch.autograd.profiler_util.FunctionEventAvg
TorchEventList: Any = torch.autograd.profiler_util.EventList
