"""Stepscope shows why a training or inference step takes the time it takes, and what to change.

>>> import stepscope as ss
>>> run = ss.open("runs/profiler")          # doctest: +SKIP
>>> run.summary()                           # doctest: +SKIP
>>> run.ops(group_by="input_shape").to_pandas()   # doctest: +SKIP

Imports the engine, torch, TensorFlow, JAX, numpy and pandas only when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepscope import errors as errors

if TYPE_CHECKING:
    from stepscope import jax as jax
    from stepscope import keras as keras
    from stepscope import lines as lines
    from stepscope import tensorflow as tensorflow
    from stepscope import torch as torch
    from stepscope.batches import Batches as Batches
    from stepscope.comparing import diff as diff
    from stepscope.opening import open as open
    from stepscope.opening import tables as tables
    from stepscope.performance import PerformanceProfiler as PerformanceProfiler
    from stepscope.performance import PerformanceRegressionDetector as PerformanceRegressionDetector
    from stepscope.performance import ProductionProfiler as ProductionProfiler
    from stepscope.performance import diagnose_performance_issues as diagnose_performance_issues
    from stepscope.report import Report as Report
    from stepscope.run import Run as Run
    from stepscope.running import configure as configure
    from stepscope.running import step as step
    from stepscope.table import Table as Table
    from stepscope.torch import record_function as record_function
    from stepscope.torch import schedule as schedule
    from stepscope.torch import trace_handler as trace_handler

#: Where each public name lives; it is loaded when it is first asked for.
_HOMES = {
    "open": "stepscope.opening",
    "tables": "stepscope.opening",
    "diff": "stepscope.comparing",
    "Run": "stepscope.run",
    "Report": "stepscope.report",
    "Table": "stepscope.table",
    "Batches": "stepscope.batches",
    "configure": "stepscope.running",
    "step": "stepscope.running",
    "PerformanceProfiler": "stepscope.performance",
    "PerformanceRegressionDetector": "stepscope.performance",
    "ProductionProfiler": "stepscope.performance",
    "diagnose_performance_issues": "stepscope.performance",
    "record_function": "stepscope.torch",
    "schedule": "stepscope.torch",
    "trace_handler": "stepscope.torch",
}
_MODULES = ("jax", "keras", "lines", "tensorflow", "torch")

__all__ = [*_HOMES, *_MODULES, "errors"]


if TYPE_CHECKING:
    __version__: str
else:
    # A checker must not take it for a promise that every name is there.

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name == "__version__":
            from importlib.metadata import version

            return version("stepscope")
        if name in _MODULES:
            return import_module(f"stepscope.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'stepscope' has no attribute '{name}'")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
