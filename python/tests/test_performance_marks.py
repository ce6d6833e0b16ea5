"""Figures that dropped regions make wrong say so; CPU of the region's own time; samples inside; regions in traces."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import stepscope as ss
from stepscope.performance.figure import Unmeasured, reason_of, what_is_missing

pytestmark = pytest.mark.measures_time

LEAVES_ELSEWHERE = """
import sys, threading
import stepscope as ss
profiler = ss.PerformanceProfiler(record=sys.argv[1])
with profiler.profile("around"):
    with profiler.profile("kept"):
        pass
region = profiler.profile("moved")
with region:
    pass
region.__enter__()
thread = threading.Thread(target=region.__exit__, args=(None, None, None))
thread.start()
thread.join()
print(repr(profiler.get_metrics("moved").timing))
print("kept:", getattr(profiler.get_metrics("kept").timing.calls, "reason", None))
profiler.close()
"""


def test_a_region_left_elsewhere_marks_its_figures(tmp_path: Path) -> None:
    job = subprocess.run(
        [sys.executable, "-c", LEAVES_ELSEWHERE, tmp_path], capture_output=True, text=True, check=True, timeout=60
    )
    why = "regions were dropped: they were closed on another thread or task than opened"
    marked = next(line for line in job.stdout.splitlines() if line.startswith("incomplete: "))
    assert marked.endswith(why) and "self_time_s, total_time_s, calls" in marked, job.stdout
    assert "calls                      1" in job.stdout, "what was measured stays"
    assert "kept: None" in job.stdout
    assert "1 region of this process was not measured: they were closed on another thread" in job.stderr, job.stderr
    health = " ".join(str(ss.open(tmp_path).health()).split())
    assert "some regions were not recorded: buffer full, or ended on another thread" in health, health
    assert "had no room for some regions" not in health


def test_a_full_ring_marks_what_it_lost(capfd: pytest.CaptureFixture[str]) -> None:
    profiler = ss.PerformanceProfiler()
    with profiler.profile("quiet"):
        pass
    tiny = profiler.profile("tiny")
    # More than a ring holds, faster than it is emptied; again if this machine was slow meanwhile.
    for _ in range(50):
        with profiler.profile("outer"):
            for _ in range(200_000):
                with tiny:
                    pass
            time.sleep(0.2)  # Until there is room for `outer` itself.
        if what_is_missing(profiler.get_metrics("tiny").timing.calls):
            break
    timing = profiler.get_metrics("tiny").timing
    assert "ended faster than they could be collected" in str(what_is_missing(timing.calls))
    assert timing.calls > 0 and timing.total_time_s > 0
    document = profiler.get_metrics("tiny").to_dict()
    assert document["incomplete"]["timing.calls"] == what_is_missing(timing.calls)
    assert json.loads(profiler.get_metrics("tiny").to_json())["timing"]["calls"] == timing.calls
    again = pickle.loads(pickle.dumps(timing.calls))
    assert (again, again.reason) == (timing.calls, what_is_missing(timing.calls))
    assert what_is_missing(profiler.get_metrics("quiet").timing.calls) is None
    assert what_is_missing(profiler.get_metrics("outer").timing.self_time_s), "it contains what was dropped inside"
    assert what_is_missing(profiler.get_timing_breakdown()["tiny"])
    profiler.close()
    assert "regions of this process were not measured" in capfd.readouterr().err


def test_cpu_percent_is_that_of_the_region() -> None:
    profiler = ss.PerformanceProfiler(memory_interval=0.02)

    def burn(seconds: float) -> None:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass

    with profiler.profile("asleep"):
        time.sleep(0.4)
    with profiler.profile("busy"):
        burn(0.4)
    with profiler.profile("asleep again"):
        time.sleep(0.4)
    busy, asleep = profiler.get_metrics("busy"), profiler.get_metrics("asleep again")
    expected = busy.timing.cpu_time_s / busy.timing.wall_time_s * 100
    assert busy.system.process_cpu_percent == pytest.approx(expected)
    assert busy.system.process_cpu_percent > 4 * asleep.system.process_cpu_percent
    with profiler.profile("outer"), profiler.profile("short"):
        pass
    short = profiler.get_metrics("short").system.process_cpu_percent
    assert isinstance(short, Unmeasured) and reason_of(short)
    assert profiler.get_current_system_stats().process_cpu_percent >= 0
    profiler.close()


def test_batches_inside_give_a_throughput() -> None:
    profiler = ss.PerformanceProfiler()
    with profiler.profile("training"):
        for _ in range(4):
            with profiler.profile("step"):
                # Both work on the same batch.
                with profiler.profile("load", samples=32):
                    time.sleep(0.002)
                with profiler.profile("forward", samples=32):
                    time.sleep(0.002)
    training = profiler.get_metrics()
    assert training.name == "training"
    assert training.throughput == pytest.approx(4 * 32 / training.timing.wall_time_s, rel=1e-3)
    step = profiler.get_metrics("step")
    assert step.throughput == pytest.approx(4 * 32 / step.timing.total_time_s, rel=1e-3)
    load = profiler.get_metrics("load")
    assert load.throughput == pytest.approx(4 * 32 / load.timing.total_time_s, rel=1e-3)
    with profiler.profile("no samples"):
        pass
    assert isinstance(profiler.get_metrics("no samples").throughput, Unmeasured)
    profiler.close()


IMPORTS_LATE = """
import sys
import stepscope as ss
profiler = ss.PerformanceProfiler()
assert "torch" not in sys.modules
with profiler.profile("before torch"):
    pass
import torch
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
    with profiler.profile("late"):
        torch.ones(4).sum()
prof.export_chrome_trace(sys.argv[1])
profiler.close()
"""


def test_torch_may_be_imported_after_the_profiler(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    trace = tmp_path / "trace.json"
    subprocess.run([sys.executable, "-c", IMPORTS_LATE, trace], check=True, timeout=120)
    regions = {row["name"] for row in ss.open(trace).regions().to_dict()["rows"]}
    assert "late" in regions and "before torch" not in regions, regions


def test_regions_are_in_the_trace_of_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    profiler = ss.PerformanceProfiler()

    async def tasks() -> None:
        async def one(name: str) -> None:
            with profiler.profile(name):
                await asyncio.sleep(0.001)

        await asyncio.gather(one("task a"), one("task b"))

    def on_a_thread() -> None:
        with profiler.profile("on a thread"):
            torch.ones(4).sum()

    with profiler.profile("before"):
        pass
    open_over_the_end = profiler.profile("open over the end")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        with profiler.profile("outer"), profiler.profile("inner", samples=4):
            torch.ones(4).sum()
        thread = threading.Thread(target=on_a_thread)
        thread.start()
        thread.join()
        asyncio.run(tasks())
        open_over_the_end.__enter__()
    open_over_the_end.__exit__(None, None, None)
    with profiler.profile("after"):
        pass
    trace = tmp_path / "trace.json"
    prof.export_chrome_trace(str(trace))
    regions = {row["name"] for row in ss.open(trace).regions().to_dict()["rows"]}
    assert {"outer", "inner", "task a", "task b"} <= regions, regions
    assert not {"before", "after"} & regions, regions
    assert profiler.get_metrics("outer").timing.calls == 1
    profiler.close()
