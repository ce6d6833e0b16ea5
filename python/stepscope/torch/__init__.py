"""Records PyTorch traces within a capture budget, with every name that scripts import from `torch.profiler`.

To use it, change `torch.profiler` to `stepscope.torch` in a script.

>>> from stepscope.torch import profile, record_function
>>> with profile() as prof:
...     with record_function("addition"):
...         total = sum(range(1000))
>>> [row.key for row in prof.key_averages()]
['addition']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepscope.errors import MissingPackageError

try:
    import torch.profiler
except ImportError as error:
    raise MissingPackageError("stepscope.torch needs PyTorch", None, "pip install torch") from error

from torch.profiler import ProfilerAction, ProfilerActivity, record_function, schedule, supported_activities

from stepscope.torch.averages import AverageRow, KeyAverages
from stepscope.torch.budget import CaptureWarning, Prediction
from stepscope.torch.handler import trace_handler
from stepscope.torch.capture import profile
from stepscope.torch.memory_history import record_memory_history, snapshot

tensorboard_trace_handler = trace_handler

__all__ = [
    "AverageRow",
    "CaptureWarning",
    "KeyAverages",
    "Prediction",
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "record_memory_history",
    "schedule",
    "snapshot",
    "supported_activities",
    "tensorboard_trace_handler",
    "trace_handler",
]


if TYPE_CHECKING:
    from torch.profiler import DeviceType as DeviceType
    from torch.profiler import ExecutionTraceObserver as ExecutionTraceObserver
    from torch.profiler import kineto_available as kineto_available
else:

    def __getattr__(name: str) -> Any:
        """Returns any other name of `torch.profiler`, such as `ExecutionTraceObserver`."""
        return getattr(torch.profiler, name)
