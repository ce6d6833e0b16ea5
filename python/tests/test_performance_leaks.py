"""A seeded leak is named within ten steps; a healthy loop gives no finding."""

from __future__ import annotations

import functools
import gc
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

import stepscope as ss
from stepscope.performance import Leak

pytestmark = pytest.mark.measures_time

LEAK_LINE = "kept.append(bytearray(1_000_000))"


@pytest.fixture
def profiler() -> Iterator[ss.PerformanceProfiler]:
    gc.collect()
    with ss.PerformanceProfiler(detailed_memory=True) as profiler:
        yield profiler


def work() -> int:
    """What any step does: many allocations that go away again."""
    blocks = [bytearray(random.randrange(1_000, 100_000)) for _ in range(50)]
    return sum(map(len, blocks))


def assert_names_the_line(leak: Leak) -> None:
    file, line = leak.stack[0]
    assert file == __file__ and LEAK_LINE in Path(file).read_text().splitlines()[line - 1]
    assert leak.where.endswith(f"test_performance_leaks.py:{line}") and leak.where in leak.summary()
    assert leak.kind == "python"
    assert leak.bytes_per_step == pytest.approx(1_000_000, rel=0.01)


def test_a_leak_of_one_line_is_named_first_as_in_the_guide(profiler: ss.PerformanceProfiler) -> None:
    kept: list[bytearray] = []
    with profiler.profile("potential_memory_leak"):
        for _ in range(10):
            work()
            kept.append(bytearray(1_000_000))
            profiler.get_current_memory()
    assert_names_the_line(profiler.get_leaks()[0])
    metrics = profiler.get_metrics()
    assert metrics.memory.leaks == profiler.get_leaks()
    assert metrics.memory.python_peak_mb > 10
    assert "leak: " in repr(metrics) and "leak: " in metrics._repr_html_()
    assert metrics.to_dict()["memory"]["leaks"][0]["region"] == "potential_memory_leak"
    assert any("leak" in issue for issue in ss.diagnose_performance_issues(metrics))


def test_every_call_of_a_region_is_a_step(profiler: ss.PerformanceProfiler) -> None:
    kept: list[bytearray] = []
    for _ in range(10):
        with profiler.profile("step"):
            work()
            kept.append(bytearray(1_000_000))
    assert_names_the_line(profiler.get_leaks()[0])
    assert profiler.get_leaks()[0].region == "step"


def test_marked_steps_count_for_the_innermost_region(profiler: ss.PerformanceProfiler) -> None:
    kept: list[bytearray] = []
    with profiler.profile("run"), profiler.profile("epoch"):
        for _ in range(10):
            kept.append(bytearray(1_000_000))
            profiler.mark_step()
    assert profiler.get_metrics("run").memory.leaks == ()
    leaks = profiler.get_metrics("epoch").memory.leaks
    assert leaks
    assert_names_the_line(leaks[0])


def test_a_healthy_loop_gives_no_finding(profiler: ss.PerformanceProfiler) -> None:
    """Caches that fill up, a buffer of fixed length, cyclic garbage, blocks of changing size."""
    random.seed(7)
    cache: dict[int, bytearray] = {}
    recent: list[list[bytearray]] = []
    losses: list[float] = []

    @functools.lru_cache(maxsize=200)
    def looked_up(key: int) -> bytearray:
        return bytearray(10_000 + key)

    class Cycle:
        def __init__(self) -> None:
            self.itself = self
            self.block = bytearray(500_000)

    for step in range(25):
        with profiler.profile("step"):
            work()
            for _ in range(200):
                looked_up(random.randrange(200))
                cache.setdefault(random.randrange(300), bytearray(3_000))
            recent.append([bytearray(random.randrange(1, 100_000)) for _ in range(20)])
            del recent[:-4]
            Cycle()
            losses.append(random.random())
        if step >= 12:
            assert profiler.get_leaks() == ()
    assert profiler.get_metrics().memory.leaks == ()


def test_the_python_peak_of_nested_regions(profiler: ss.PerformanceProfiler) -> None:
    with profiler.profile("outer"):
        block = bytearray(30_000_000)
        del block
        with profiler.profile("inner"):
            block = bytearray(10_000_000)
            del block
    outer = profiler.get_metrics("outer").memory.python_peak_mb
    inner = profiler.get_metrics("inner").memory.python_peak_mb
    assert outer > 30 and 10 < inner < 25


def test_tracing_ends_with_the_last_who_needs_it() -> None:
    gc.collect()
    first, second = (ss.PerformanceProfiler(detailed_memory=True) for _ in range(2))
    first.close()
    first.close()
    assert tracemalloc.is_tracing()
    second.close()
    assert not tracemalloc.is_tracing()


def test_tracing_that_was_on_stays_on() -> None:
    tracemalloc.start()
    try:
        ss.PerformanceProfiler(detailed_memory=True).close()
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


NATIVE = """
import mmap
import stepscope as ss
profiler = ss.PerformanceProfiler(detailed_memory=True)
kept = []
with profiler.profile("leak"):
    for _ in range(10):
        block = mmap.mmap(-1, 2_000_000)
        block.write(bytes(2_000_000))
        kept.append(block)
        profiler.mark_step()
[leak] = profiler.get_leaks()
print(leak.kind, round(leak.bytes_per_step / 1e6, 1), any(place.endswith(":7") for place in leak.suspects))
"""


def test_memory_outside_python_is_found_with_its_suspects(tmp_path: Path) -> None:
    """In a process of its own, where no gap in the memory takes it in."""
    script = tmp_path / "native_leak.py"
    script.write_text(NATIVE.lstrip())
    said = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert said.stdout.split() == ["native", "2.0", "True"], said.stderr
