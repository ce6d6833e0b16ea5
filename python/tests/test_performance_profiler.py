"""Regions and what is measured of them."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import BuiltinFunctionType

import pytest

import stepscope as ss
from stepscope import _native
from stepscope.errors import RegionError, UsageError
from stepscope.performance import Metrics, Unmeasured, known
from stepscope.performance.comparison import Comparison

pytestmark = pytest.mark.measures_time


@pytest.fixture
def profiler() -> Iterator[ss.PerformanceProfiler]:
    with ss.PerformanceProfiler() as profiler:
        yield profiler


def test_a_region_has_time_memory_and_the_machine(profiler: ss.PerformanceProfiler) -> None:
    with profiler.profile("sleeping"):
        time.sleep(0.12)
    metrics = profiler.get_metrics()
    assert metrics.name == "sleeping"
    assert 0.12 <= metrics.timing.wall_time_s < 2
    assert metrics.timing.calls == 1
    assert metrics.timing.wall_time_s == pytest.approx(metrics.timing.total_time_s, rel=0.01)
    assert 5 < metrics.memory.peak_ram_mb < 100_000
    assert metrics.memory.growth_mb == metrics.memory.end_ram_mb - metrics.memory.start_ram_mb
    assert 0 <= metrics.system.memory_percent <= 100


def test_the_cheap_path_is_native(profiler: ss.PerformanceProfiler) -> None:
    assert isinstance(profiler.profile, BuiltinFunctionType)
    assert isinstance(profiler.profile("x"), _native.Region)
    assert not isinstance(ss.PerformanceProfiler(detailed_memory=True).profile("x"), _native.Region)
    gc.collect()


def test_without_a_name_it_is_the_outermost_region_that_closed_last(profiler: ss.PerformanceProfiler) -> None:
    with profiler.profile("first"):
        pass
    with profiler.profile("outer"):
        with profiler.profile("inner"):
            pass
        assert profiler.get_metrics().name == "first"
    assert profiler.get_metrics().name == "outer"
    assert profiler.get_metrics("inner").timing.calls == 1


def test_the_breakdown_adds_up_to_the_time_covered(profiler: ss.PerformanceProfiler) -> None:
    with profiler.profile("pipeline"):
        time.sleep(0.02)
        for _ in range(3):
            with profiler.profile("loading"):
                time.sleep(0.01)
    breakdown = profiler.get_timing_breakdown()
    assert set(breakdown) == {"loading", "pipeline"}
    assert sum(breakdown.values()) == pytest.approx(profiler.get_metrics().timing.wall_time_s, rel=0.02)
    assert breakdown["loading"] >= 0.03 and breakdown["pipeline"] >= 0.02
    timing = profiler.get_metrics("loading").timing
    assert timing.calls == 3
    assert timing.min_s <= timing.p50_s * 1.01 and timing.p95_s <= timing.max_s * 1.01
    assert timing.mean_s == pytest.approx(timing.total_time_s / 3)


def test_errors_pass_through_a_region(profiler: ss.PerformanceProfiler) -> None:
    with pytest.raises(ZeroDivisionError), profiler.profile("failing"):
        1 / 0
    assert profiler.get_metrics("failing").timing.calls == 1


@pytest.mark.parametrize("detailed_memory", [False, True])
def test_functions_coroutines_and_recursion(detailed_memory: bool) -> None:
    with ss.PerformanceProfiler(detailed_memory=detailed_memory) as profiler:

        @profiler.profile("factorial")
        def factorial(n: int) -> int:
            """Of n."""
            return 1 if n == 0 else n * factorial(n - 1)

        @profiler.profile("waiting")
        async def waiting(seconds: float) -> float:
            await asyncio.sleep(seconds)
            return seconds

        async def all_of_them() -> list[float]:
            return await asyncio.gather(*(waiting(0.05) for _ in range(4)))

        assert (factorial(4), factorial.__name__, factorial.__doc__) == (24, "factorial", "Of n.")
        assert asyncio.run(all_of_them()) == [0.05] * 4
        assert profiler.get_metrics("factorial").timing.calls == 5
        waited = profiler.get_metrics("waiting").timing
        # They wait at the same time, and each of them its own time.
        assert waited.calls == 4 and 0.05 <= waited.min_s
        assert detailed_memory or waited.max_s < 0.5


@pytest.mark.parametrize("detailed_memory", [False, True])
def test_regions_of_many_threads(detailed_memory: bool) -> None:
    with ss.PerformanceProfiler(detailed_memory=detailed_memory) as profiler:
        shared = profiler.profile("shared", samples=2)
        calls = 5 if detailed_memory else 50

        def work(number: int) -> None:
            for _ in range(calls):
                with shared, profiler.profile(f"thread {number % 2}"):
                    pass

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        metrics = profiler.get_metrics("shared")
        assert metrics.timing.calls == 4 * calls
        assert profiler.get_metrics("thread 1").timing.calls == 2 * calls
        assert metrics.throughput == pytest.approx(8 * calls / metrics.timing.total_time_s, rel=0.01)


def test_throughput_needs_samples(profiler: ss.PerformanceProfiler) -> None:
    with profiler.profile("counted", samples=64):
        time.sleep(0.05)
    assert 64 / 0.5 < profiler.get_metrics().throughput <= 64 / 0.05
    with profiler.profile("uncounted"):
        pass
    throughput = profiler.get_metrics().throughput
    assert isinstance(throughput, Unmeasured) and "samples=n" in throughput.reason
    assert f"{throughput} samples/s" == "nan samples/s"


def test_a_new_peak_of_the_process_is_exact_however_short(profiler: ss.PerformanceProfiler) -> None:
    # Higher than anything before in this process, and gone before a reading can see it.
    before_mb = profiler.get_current_memory()
    size = 600_000_000
    with profiler.profile("peak"):
        block = bytearray(size)
        del block
    time.sleep(0.3)  # Readings next to a region count too.
    with profiler.profile("calm"):
        pass
    assert profiler.get_metrics("peak").memory.peak_ram_mb > before_mb + 0.9 * size / 1e6
    assert profiler.get_metrics("calm").memory.peak_ram_mb < before_mb + 0.5 * size / 1e6


def test_cpu_time_counts_work_and_not_waiting(profiler: ss.PerformanceProfiler) -> None:
    with profiler.profile("waiting"):
        time.sleep(0.6)
    with profiler.profile("working"):
        begun = time.process_time()
        while time.process_time() - begun < 0.6:
            pass
    working = profiler.get_metrics("working").timing
    assert 0.4 < working.cpu_time_s <= working.wall_time_s * 1.5
    waiting = profiler.get_metrics("waiting").timing.cpu_time_s
    assert not known(waiting) or waiting < 0.3


def test_an_unknown_region_names_the_nearest(profiler: ss.PerformanceProfiler) -> None:
    with pytest.raises(RegionError, match="no region has closed yet"):
        profiler.get_metrics()
    with profiler.profile("training"):
        pass
    with pytest.raises(KeyError) as caught:
        profiler.get_metrics("trainign")
    assert str(caught.value) == "no region of that name has closed: `trainign`\nhint: did you mean `training`?"
    with pytest.raises(UsageError, match="detailed_memory"):
        profiler.get_leaks()
    with pytest.raises(UsageError, match="enable_line_profiling"):
        profiler.get_line_profile()
    with pytest.raises(UsageError, match="memory_interval"):
        ss.PerformanceProfiler(memory_interval=0)


def test_metrics_are_a_document_without_nan(profiler: ss.PerformanceProfiler) -> None:
    with profiler.profile("<b>"):
        pass
    metrics = profiler.get_metrics()
    document = json.loads(metrics.to_json())
    assert document["memory"]["peak_gpu_mb"] is None
    assert document["nulls"]["memory.peak_gpu_mb"] == "track_gpu is off"
    assert document["memory"]["leaks"] is None and document["nulls"]["memory.leaks"] == "detailed_memory is off"
    assert document["timing"]["wall_time_s"] == metrics.timing.wall_time_s
    # Every figure has a value or a reason.
    for group in ("memory", "timing", "compute", "system"):
        for name, value in document[group].items():
            assert (value is None) == (f"{group}.{name}" in document["nulls"])
    assert "peak_ram_mb" in repr(metrics) and "track_gpu is off" in repr(metrics)
    assert "&lt;b&gt;" in metrics._repr_html_() and "<b>" not in metrics._repr_html_()


def test_a_profiler_that_is_off_costs_nothing_and_says_so() -> None:
    profiler = ss.PerformanceProfiler(enabled=False, detailed_memory=True, record="nowhere")

    def function() -> None: ...

    assert profiler.profile("f")(function) is function
    with profiler.profile("x", samples=3):
        pass
    metrics = profiler.get_metrics("x")
    assert isinstance(metrics, Metrics) and not known(metrics.timing.wall_time_s)
    assert "off" in metrics.to_dict()["nulls"]["timing.wall_time_s"]
    assert profiler.get_timing_breakdown() == {} and profiler.get_leaks() == ()
    assert len(profiler.get_line_profile()) == 0 and len(profiler.compare("x")) == 0
    assert profiler.get_system_report().to_dict()["nulls"]["avg_cpu_percent"] == "the profiler is off (enabled=False)"
    assert not Path("nowhere").exists()
    profiler.close()


def test_after_closing_what_was_measured_can_be_asked_for() -> None:
    with ss.PerformanceProfiler() as profiler, profiler.profile("short"):
        block = bytearray(1000)
    del block
    profiler.close()
    metrics = profiler.get_metrics()
    assert known(metrics.memory.end_ram_mb) and metrics.timing.calls == 1
    assert profiler.get_system_report().peak_memory_percent > 0


def test_a_forgotten_profiler_stops_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(_native, "unwatch_system", ended.append)
    ss.PerformanceProfiler(detailed_memory=True)
    gc.collect()
    assert len(ended) == 1


def test_the_machine_now_and_since_the_beginning() -> None:
    with ss.PerformanceProfiler(track_gpu=True, track_network=True, system_interval=0.05) as profiler:
        with profiler.profile("waiting"):
            time.sleep(0.3)
        now = profiler.get_current_system_stats()
        assert 0 <= now.cpu_percent <= 100 and 0 < now.memory_percent < 100
        assert known(now.disk_io_percent) or isinstance(now.disk_io_percent, Unmeasured)
        report = profiler.get_system_report()
        assert 0 <= report.min_cpu_percent <= report.avg_cpu_percent <= report.peak_cpu_percent <= 100
        assert report.peak_memory_percent >= report.avg_memory_percent > 0
        # Either there is a GPU, or there is a reason.
        share = profiler.get_current_gpu_memory()
        assert 0 <= share <= 1 or isinstance(share, Unmeasured)


def test_regions_side_by_side(profiler: ss.PerformanceProfiler) -> None:
    for name, seconds in (("quick", 0.01), ("slow", 0.03)):
        for _ in range(3):
            with profiler.profile(name, samples=8):
                time.sleep(seconds)
    comparison = profiler.compare("slow", "quick")
    assert comparison.labels == ["slow", "quick"] and comparison.fastest == "quick"
    ratio = comparison.ratio("quick")
    assert ratio is not None and ratio < 0.7
    assert comparison.is_within_noise("quick") is False
    lines = str(comparison).splitlines()
    assert len(lines) == 3 and lines[1].startswith("slow ") and "1.00×" in lines[1]
    assert "peak GPU" not in lines[0]
    assert comparison._repr_html_().count("<tr>") == 3
    frame = pytest.importorskip("pandas").DataFrame(comparison.to_dict()).T
    assert list(frame.index) == ["slow", "quick"] and frame.loc["quick", "calls"] == 3
    assert len(profiler.compare()) == 2
    with pytest.raises(RegionError, match="`sloow`"):
        profiler.compare("sloow")
    with pytest.raises(RegionError, match="no such label in the comparison: `sloow`"):
        comparison.ratio("sloow")
    with ss.PerformanceProfiler() as empty:
        assert "no region has closed" in str(empty.compare())


def test_what_rounds_to_nothing_has_no_sign() -> None:
    grown = Comparison({"flat": {"growth_mb": -0.04}, "more": {"growth_mb": 0.06}, "less": {"growth_mb": -1.0}})
    assert [line.split()[1] for line in str(grown).splitlines()[1:]] == ["0.0", "+0.1", "-1.0"]


def test_runs_side_by_side(profiler: ss.PerformanceProfiler, tmp_path: Path) -> None:
    with ss.PerformanceProfiler() as before:
        for _ in range(3):
            with before.profile("step"):
                time.sleep(0.03)
        before.save_metrics(tmp_path / "before.json")
    for _ in range(3):
        with profiler.profile("step"):
            time.sleep(0.01)
    for run in (before, tmp_path / "before.json"):
        comparison = profiler.compare(runs={"before": run})
        assert comparison.labels == ["step (before)", "step (this)"]
        ratio = comparison.ratio("step (this)")
        assert ratio is not None and ratio < 0.7
    with pytest.raises(RegionError, match="no run has a region of that name: `stepp`"):
        profiler.compare("stepp", runs={"before": before})


def test_saved_metrics_are_plain_json(profiler: ss.PerformanceProfiler, tmp_path: Path) -> None:
    with profiler.profile("model_training"):
        time.sleep(0.01)
    profiler.save_metrics(tmp_path / "new" / "metrics.json")
    saved = json.loads((tmp_path / "new" / "metrics.json").read_text())
    assert saved["model_training"]["wall_time_s"] == profiler.get_metrics().timing.total_time_s
    assert saved["model_training"]["peak_gpu_mb"] is None
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["metrics.json"]
    with pytest.raises(UsageError, match="the metrics cannot be written"):
        profiler.save_metrics(tmp_path / "new")
    assert len(list(tmp_path.iterdir())) == 1


def test_a_recording_goes_to_its_folder(tmp_path: Path) -> None:
    with ss.PerformanceProfiler(record=tmp_path / "runs") as profiler:
        with profiler.profile("recorded"):
            pass
        assert profiler.recording is not None
    assert Path(profiler.recording).is_file() and Path(profiler.recording).parent == tmp_path / "runs"


def test_a_recording_that_lost_regions_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = {"dropped_ring_full": 7, "dropped_no_ring": 0, "dropped_left_elsewhere": 0, "dropped_past_limit": 0}
    monkeypatch.setattr(_native, "recording_counts", lambda: dict(counts))
    profiler = ss.PerformanceProfiler(record=tmp_path)
    counts |= {"dropped_ring_full": 10, "dropped_past_limit": 1200}
    profiler.close()
    profiler.close()
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("stepscope: 3 regions of this process were not measured: they ended faster than")
    assert second.startswith(f"stepscope: 1,200 regions are missing in {profiler.recording}: ")


def test_a_region_that_another_thread_leaves_is_counted_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    with ss.PerformanceProfiler() as profiler:
        region = profiler.profile("wanders")
        region.__enter__()
        leaver = threading.Thread(target=region.__exit__, args=(None, None, None))
        leaver.start()
        leaver.join()
        assert profiler.get_timing_breakdown() == {}
        with pytest.raises(RegionError) as refused:
            profiler.get_metrics("wanders")
        assert "closed on another thread" in str(refused.value.hint)
    said = "1 region of this process was not measured: they were closed on another thread or task"
    assert said in capsys.readouterr().err
    # The rest of the process goes on as if it had been left here.
    region.__exit__(None, None, None)


def test_a_class_made_from_the_profiler_may_have_its_own_regions() -> None:
    class Prefixed(ss.PerformanceProfiler):
        def profile(self, name: str, samples: int | None = None) -> _native.Region:
            return super().profile(f"mine/{name}", samples)

    with Prefixed() as profiler, profiler.profile("region", samples=3):
        pass
    assert profiler.get_metrics("mine/region").timing.calls == 1


def test_regions_that_end_too_fast_are_counted_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    calls, before = 400_000, _native.recording_counts()["dropped_ring_full"]
    with ss.PerformanceProfiler() as profiler:
        region = profiler.profile("tight")
        for _ in range(calls):
            with region:
                pass
        measured = profiler.get_metrics("tight").timing.calls
    lost = _native.recording_counts()["dropped_ring_full"] - before
    assert measured + lost >= calls
    assert (f"{lost:,} regions" in capsys.readouterr().err) == (lost > 0)


def test_a_folder_that_cannot_be_written_is_refused_and_spoils_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="pass a folder with record="):
        ss.PerformanceProfiler(record=tmp_path / "file")
    with ss.PerformanceProfiler(record=tmp_path / "runs"):
        second = ss.PerformanceProfiler(record=tmp_path / "other")
        second.close()
        assert "nothing is written to: " in capsys.readouterr().err and not (tmp_path / "other").exists()
    # Every profiler that began a recording has ended it.
    assert _native.recording_path() is None


def test_wrong_numbers_are_refused_by_name(tmp_path: Path) -> None:
    for name, value in (("memory_interval", "1"), ("system_interval", float("inf")), ("record_limit_mb", -1)):
        with pytest.raises(UsageError, match=f"{name}: expected more than 0"):
            ss.PerformanceProfiler(record=tmp_path, **{name: value})


def test_figures_print_without_exponents_and_with_reasons(profiler: ss.PerformanceProfiler) -> None:
    with profiler.profile("short"):
        pass
    metrics = profiler.get_metrics()
    assert "e-0" not in repr(metrics)
    assert "wall_time_s" in repr(metrics.timing) and "TimingMetrics" not in repr(metrics.timing)
    assert "not measured: python_peak_mb, leaks: detailed_memory is off" in repr(metrics.memory)
    assert "track_network is off" in repr(profiler.get_current_system_stats())
    assert "not measured: cpu_temperature_celsius: track_cpu_temp is off" in repr(profiler.get_system_report())


def test_percentiles_lie_between_the_shortest_and_the_longest_call(profiler: ss.PerformanceProfiler) -> None:
    for number in range(20):
        with profiler.profile(f"once {number}"):
            time.sleep(0.0003 * number)
        timing = profiler.get_metrics(f"once {number}").timing
        assert timing.p50_s == timing.p95_s == timing.p99_s == timing.max_s == timing.min_s


def test_after_closing_pythons_memory_is_not_zero_but_unknown() -> None:
    profiler = ss.PerformanceProfiler(detailed_memory=True)
    profiler.close()
    with profiler.profile("late"):
        pass
    peak_mb = profiler.get_metrics().memory.python_peak_mb
    assert isinstance(peak_mb, Unmeasured) and "not traced" in peak_mb.reason


def test_a_region_goes_around_functions_alone(profiler: ss.PerformanceProfiler) -> None:
    class Model: ...

    with pytest.raises(TypeError, match="found the class Model"):
        profiler.profile("model")(Model)
    with pytest.raises(TypeError, match="found 3"):
        profiler.profile("model")(3)  # type: ignore[type-var]


@pytest.mark.parametrize("detailed_memory", [False, True])
def test_leaving_a_region_that_nobody_entered_is_harmless(detailed_memory: bool) -> None:
    with ss.PerformanceProfiler(detailed_memory=detailed_memory) as profiler:
        profiler.profile("never entered").__exit__(None, None, None)
        with pytest.raises(RegionError, match="no region has closed yet"):
            profiler.get_metrics()


def test_an_asynchronous_generator_is_measured_to_its_end(profiler: ss.PerformanceProfiler) -> None:
    @profiler.profile("stream")
    async def stream() -> AsyncIterator[int]:
        for number in range(3):
            await asyncio.sleep(0.01)
            yield number

    async def all_of_it() -> list[int]:
        return [number async for number in stream()]

    assert asyncio.run(all_of_it()) == [0, 1, 2]
    assert profiler.get_metrics("stream").timing.wall_time_s >= 0.03
