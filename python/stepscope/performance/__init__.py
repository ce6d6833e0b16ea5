"""The region profiler: measures time, memory, FLOPs and the machine for regions that a program names.

>>> from stepscope import PerformanceProfiler
>>> profiler = PerformanceProfiler()
>>> with profiler.profile("training_loop"):
...     total = sum(range(1000))
>>> profiler.get_metrics().timing.calls
1
>>> profiler.close()
"""

from __future__ import annotations

from stepscope.gate import GateVerdict

from .comparison import Comparison
from .diagnose import Diagnosis, diagnose_performance_issues
from .figure import Unmeasured, known
from .hourly_report import HourlyReport
from .leaks import Leak
from .metrics import ComputeMetrics, MemoryMetrics, Metrics, SystemMetrics, TimingMetrics
from .production import ProductionProfiler
from .profiler import PerformanceProfiler
from .regression import PerformanceRegressionDetector, RegressionResult
from .system_report import SystemReport

__all__ = [
    "Comparison",
    "ComputeMetrics",
    "Diagnosis",
    "GateVerdict",
    "HourlyReport",
    "Leak",
    "MemoryMetrics",
    "Metrics",
    "PerformanceProfiler",
    "PerformanceRegressionDetector",
    "ProductionProfiler",
    "RegressionResult",
    "SystemMetrics",
    "SystemReport",
    "TimingMetrics",
    "Unmeasured",
    "diagnose_performance_issues",
    "known",
]
