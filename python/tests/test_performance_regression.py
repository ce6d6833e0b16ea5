"""Verdicts against a baseline, and what figures point to."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

import stepscope as ss
from stepscope.errors import UsageError
from stepscope.gate import judge
from stepscope.performance import Diagnosis, Metrics, PerformanceProfiler
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


class Given(ss.PerformanceRegressionDetector):
    """A detector whose calls take the times that it is given, and that keeps its alerts."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.alerts: list[tuple[float, float]] = []

    def run(self, times_s: list[float], threshold: float = 0.2) -> None:
        for time_s in times_s:
            measure = self.profiler.get_metrics
            metrics = PerformanceProfiler.get_metrics

            def given(name: str | None = None, time_s: float = time_s) -> Metrics:
                found = metrics(self.profiler, name)
                return replace(found, timing=replace(found.timing, wall_time_s=time_s))

            self.profiler.get_metrics = given  # type: ignore[method-assign]
            with self.check_regression("work", threshold):
                pass
            self.profiler.get_metrics = measure  # type: ignore[method-assign]

    def alert_regression(self, operation_name: str, baseline_time: float, current_time: float) -> None:
        self.alerts.append((baseline_time, current_time))


def around(mean_s: float, count: int = 6) -> list[float]:
    noise = random.Random(count)
    return [round(mean_s * noise.gauss(1, 0.002), 6) for _ in range(count)]


def saved(tmp_path: Path, *means_s: float) -> Path:
    path = tmp_path / "baseline_metrics.json"
    for mean_s in means_s:
        run = Given(path)
        run.run(around(mean_s))
        run.save_baseline(append=True)
    return path


def test_five_calls_are_tested(tmp_path: Path) -> None:
    detector = Given(saved(tmp_path, 1.0))
    detector.run(around(1.3))
    gates = [result.gate for result in detector.results]
    assert gates[:4] == [None] * 4
    assert all("not tested: found 6 calls in the baseline and" in str(result) for result in detector.results[:4])
    result, gate = detector.results[-1], gates[-1]
    assert gate is not None and gates[4] is not None and gate.verdict == result.verdict == "regression"
    assert gate.p is not None and gate.p < 0.01 and gate.candidate_values == gate.baseline_values == 6
    assert gate.shift_ratio == pytest.approx(0.3, abs=0.01)
    assert str(result).startswith("work: regression: median 1.3") and "; shift +30." in str(result)
    assert "p = 0.0022, 6 values, baseline 6; baseline of one run" in result.reason
    # Each call alone, and then the verdict on all once: with the medians.
    assert len(detector.alerts) == 5
    assert detector.alerts[-1] == (gates[4].baseline_median, gates[4].candidate_median)
    assert detector.has_regression()


@pytest.mark.parametrize(
    ("mean_s", "threshold", "verdict"),
    [
        (1.1, 0.2, "pass"),
        (1.1, 0.02, "regression"),
        (0.7, 0.2, "improvement"),
        (0.9, 0.2, "pass"),
        (1.0, 0.02, "pass"),
    ],
)
def test_the_threshold_is_the_change_that_counts(
    mean_s: float, threshold: float, verdict: str, tmp_path: Path
) -> None:
    detector = Given(saved(tmp_path, 1.0))
    detector.run(around(mean_s), threshold)
    assert detector.results[-1].verdict == verdict
    assert detector.has_regression() == (verdict == "regression")


def test_a_slow_first_call_is_outvoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "baseline_metrics.json"
    first = Given(path)
    first.run(around(1.0, 20))
    first.save_baseline()
    capsys.readouterr()
    detector = Given(path)
    detector.run([9.0])
    assert detector.has_regression() and len(detector.alerts) == 1
    detector.run(around(1.0, 19))
    assert detector.results[-1].verdict == "pass" and not detector.has_regression()
    # The words change with every call; they are printed when the verdict changes.
    assert capsys.readouterr().err.count("inconclusive") <= 1


def test_a_baseline_grows_by_runs(tmp_path: Path) -> None:
    path = saved(tmp_path, 1.0, 1.01, 1.02)
    row = json.loads(path.read_text())["work"]
    assert row["runs_s"] == [around(1.0), around(1.01), around(1.02)]
    assert len(path.read_text().splitlines()) < 40
    detector = Given(path)
    detector.run(around(1.05), 0.02)
    gate = detector.results[-1].gate
    assert gate is not None and gate.baseline_values == 18 and gate.between_runs_ratio is not None
    # Runs of the same code differ as much.
    assert gate.between_runs_ratio > 0.05 and gate.verdict != "regression"
    assert "run" not in detector.results[-1].reason.split("values")[-1]
    # Without `append` this run is the only one; a comparison sees none of the calls.
    detector.save_baseline()
    assert json.loads(path.read_text())["work"]["runs_s"] == [around(1.05)]
    assert "runs_s" not in ss.PerformanceProfiler().compare(runs={"before": path}).to_dict()["work (before)"]


@pytest.mark.parametrize("runs", ["[1]", '"1"', '[["1"]]', "[[NaN]]", "{}"])
def test_calls_that_are_none_are_refused_by_name(runs: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline_metrics.json"
    path.write_text(f'{{"work": {{"wall_time_s": 1, "runs_s": {runs}}}}}')
    with pytest.raises(UsageError, match="expected lists of seconds in `runs_s` of the region: `work`"):
        ss.PerformanceRegressionDetector(path)


def test_the_gate_refuses_what_is_not_a_number() -> None:
    with pytest.raises(UsageError, match="candidates: expected finite numbers, found: nan"):
        judge("work", [[1.0] * 5], [[float("nan")] * 5])
    with pytest.raises(UsageError, match="baseline: found no values of work"):
        judge("work", [[]], [[1.0] * 5])
    assert str(judge("work", [[1.0] * 5], [[1.0] * 4])).startswith("inconclusive: shift ")


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
