"""Profiles a Lightning `Trainer`. Tried with Lightning 2.6 on a CPU.

    from stepscope.torch import schedule, trace_handler
    from stepscope.torch.lightning import StepscopeCallback

    plan = schedule(wait=1, warmup=1, active=3, repeat=1)
    callback = StepscopeCallback(schedule=plan, on_trace_ready=trace_handler("runs/profiler"))
    Trainer(callbacks=[callback], ...).fit(model)
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from stepscope.errors import MissingPackageError
from stepscope.torch.capture import profile


@cache
def _callback_class() -> Any:
    base: Any = _lightning_callback()

    class StepscopeCallback(base):  # type: ignore[misc]
        """Records training with a `profile`, which gets all arguments; a training batch is a step."""

        def __init__(self, **profile_arguments: Any) -> None:
            super().__init__()
            self.profiler = profile(**profile_arguments)
            self._is_running = False

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self.profiler.start()
            self._is_running = True

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            self.profiler.step(samples=_samples_in(batch))

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            if self._is_running:
                self._is_running = False
                self.profiler.stop()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            self.on_train_end(trainer, pl_module)

    return StepscopeCallback


def _lightning_callback() -> Any:
    for package in ("lightning.pytorch", "pytorch_lightning"):
        try:
            return import_module(f"{package}.callbacks").Callback
        except ImportError:
            continue
    raise MissingPackageError("StepscopeCallback needs Lightning", None, "pip install lightning")


def _samples_in(batch: Any) -> int | None:
    """Returns the first dimension of the first tensor in a batch."""
    while isinstance(batch, (list, tuple, dict)) and batch:
        batch = next(iter(batch.values() if isinstance(batch, dict) else batch))
    shape: tuple[int, ...] = getattr(batch, "shape", ())
    return int(shape[0]) if len(shape) else None


def __getattr__(name: str) -> Any:
    # The library is needed for the class, not to import this module.
    if name == "StepscopeCallback":
        return _callback_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
