"""Verdicts against a baseline, and what figures point to."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

import stepscope as ss
from stepscope.errors import UsageError
from stepscope.performance import Diagnosis
from stepscope.performance.figure import unmeasured

pytestmark = pytest.mark.measures_time

SLEEP_S = 0.05


def detector_with(tmp_path: Path, row: dict[str, float] | None) -> ss.PerformanceRegressionDetector:
    path = tmp_path / "baseline_metrics.json"
    path.write_text(json.dumps({} if row is None else {"model_training": row}))
    return ss.PerformanceRegressionDetector(path)


def steady(seconds: float) -> dict[str, float]:
    return {"wall_time_s": seconds, "calls": 20, "p95_s": seconds * 1.02, "max_s": seconds * 1.03}


# The operation takes 0.05 s or a little more; a busy machine makes it longer, never shorter.
@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({"wall_time_s": 10.0}, "ok"),
        (steady(10.0), "ok"),
        # As somebody writes it by hand: the time alone.
        ({"wall_time_s": 0.005}, "regression"),
        (steady(0.005), "regression"),
        # Noise that is wider than the threshold, with this run inside of it, and outside.
        ({"wall_time_s": 0.02, "calls": 20, "p95_s": 5.0, "max_s": 9.0}, "inconclusive"),
        ({"wall_time_s": 0.005, "calls": 20, "p95_s": 0.01, "max_s": 0.02}, "regression"),
        (None, "no baseline"),
    ],
)
def test_verdicts(
    row: dict[str, float] | None, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    detector = detector_with(tmp_path, row)
    with detector.check_regression("model_training"):
        time.sleep(SLEEP_S)
    [result] = detector.results
    assert result.verdict == verdict
    assert result.current_time_s >= SLEEP_S and result.baseline_time_s == (row or {}).get("wall_time_s")
    assert detector.has_regression() == (verdict == "regression")
    said = capsys.readouterr().err
    assert ("model_training" in said) == (verdict != "ok")
    if verdict == "no baseline":
        assert "save_baseline()" in said


def test_the_threshold_decides(tmp_path: Path) -> None:
    detector = detector_with(tmp_path, steady(0.02))
    for threshold in (0.2, 1000):
        with detector.check_regression("model_training", threshold=threshold):
            time.sleep(SLEEP_S)
    assert [result.verdict for result in detector.results] == ["regression", "ok"]


def test_an_alert_can_fail_the_build(tmp_path: Path) -> None:
    class Strict(ss.PerformanceRegressionDetector):
        def alert_regression(self, operation_name: str, baseline_time: float, current_time: float) -> None:
            raise AssertionError(f"{operation_name}: {current_time / baseline_time:.0f} times as long")

    detector_with(tmp_path, steady(0.001))
    strict = Strict(tmp_path / "baseline_metrics.json")
    with pytest.raises(AssertionError, match="model_training: .* times as long"):
        with strict.check_regression("model_training"):
            time.sleep(SLEEP_S)


def test_a_block_that_fails_gets_no_verdict(tmp_path: Path) -> None:
    detector = detector_with(tmp_path, steady(0.001))
    with pytest.raises(ZeroDivisionError):
        with detector.check_regression("model_training"):
            1 / 0
    assert detector.results == []


def test_the_first_run_makes_the_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "baseline_metrics.json"
    first = ss.PerformanceRegressionDetector(path)
    assert "no baseline found" in capsys.readouterr().err
    for _ in range(5):
        with first.check_regression("model_training"):
            time.sleep(SLEEP_S)
    first.save_baseline()
    second = ss.PerformanceRegressionDetector(path)
    with second.check_regression("model_training", threshold=20):
        time.sleep(SLEEP_S)
    assert [result.verdict for result in second.results] == ["ok"]


@pytest.mark.parametrize("text", ["{", "[]", '{"model_training": {}}', '{"model_training": {"wall_time_s": "1"}}'])
def test_a_baseline_that_is_none_is_refused_by_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline_metrics.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        ss.PerformanceRegressionDetector(path)
    assert str(path) in str(caught.value) and "save_metrics" in str(caught.value)


def test_issues_have_the_thresholds_of_the_guide() -> None:
    with ss.PerformanceProfiler() as profiler:
        with profiler.profile("anything"):
            pass
        metrics = profiler.get_metrics()

    def issues(ram: float, cpu: float, gpu: float, wait: float) -> Diagnosis:
        return ss.diagnose_performance_issues(
            replace(
                metrics,
                memory=replace(metrics.memory, peak_ram_mb=ram),
                system=replace(metrics.system, cpu_percent=cpu, disk_io_wait_percent=wait),
                compute=replace(metrics.compute, gpu_utilization_percent=gpu),
            )
        )

    assert issues(16_000, 95, 70, 20) == []
    found = issues(16_001, 96, 69, 21)
    assert [issue.split()[0] for issue in found] == ["High", "CPU", "GPU", "I/O"]
    assert set(found.unchecked) == {"memory.leaks"}
    unknown = unmeasured("no sensor")
    nothing = issues(unknown, unknown, unknown, unknown)
    assert nothing == []
    assert nothing.unchecked["compute.gpu_utilization_percent"] == "no sensor" and len(nothing.unchecked) == 5
