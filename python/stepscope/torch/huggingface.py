"""Profiles a Hugging Face `Trainer`. Tried with transformers 5.22 on a CPU.

    from stepscope.torch import schedule, trace_handler
    from stepscope.torch.huggingface import StepscopeCallback

    plan = schedule(wait=1, warmup=1, active=3, repeat=1)
    callback = StepscopeCallback(schedule=plan, on_trace_ready=trace_handler("runs/profiler"))
    Trainer(model, callbacks=[callback], ...).train()
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from stepscope.errors import MissingPackageError
from stepscope.torch.capture import profile


@cache
def _callback_class() -> Any:
    try:
        base: Any = import_module("transformers").TrainerCallback
    except ImportError as error:
        raise MissingPackageError("StepscopeCallback needs transformers", None, "pip install transformers") from error

    class StepscopeCallback(base):  # type: ignore[misc]
        """Records training with a `profile`, which gets all arguments; an optimizer step is a step."""

        def __init__(self, **profile_arguments: Any) -> None:
            super().__init__()
            self.profiler = profile(**profile_arguments)

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.profiler.start()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.profiler.step(samples=args.train_batch_size * args.gradient_accumulation_steps)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.profiler.stop()

    return StepscopeCallback


def __getattr__(name: str) -> Any:
    # The library is needed for the class, not to import this module.
    if name == "StepscopeCallback":
        return _callback_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
