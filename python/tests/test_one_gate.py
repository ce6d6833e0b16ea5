"""The same values get the same verdict, whatever measured them."""

from __future__ import annotations

import json
import marshal
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stepscope as ss
from stepscope.gate import GateVerdict, judge
from stepscope.performance import Metrics

#: Microseconds of each value, one list per run.
Series = list[list[int]]

FIGURES = ("shift_ratio", "low_ratio", "high_ratio", "p", "inflation", "between_runs_ratio")


def noisy(seed: int, mean_us: float) -> list[int]:
    """Twenty values with noise of 2 %: whole microseconds, which every format keeps exactly."""
    noise = random.Random(seed)
    return [round(mean_us * noise.gauss(1, 0.02)) for _ in range(20)]


BASELINE: Series = [noisy(seed, 50_000) for seed in (1, 2, 3)]

#: Candidates and their verdicts: 8 % slower, 10 % faster, the same, and a noise that leaves it open.
CASES = [
    (noisy(4, 54_000), "regression"),
    (noisy(5, 45_000), "improvement"),
    (noisy(6, 50_000), "pass"),
    ([round(time_us * (1.12 if place % 3 else 0.95)) for place, time_us in enumerate(noisy(7, 50_000))], "inconclusive"),
]


def trace(path: Path, name: str, times_us: list[int]) -> Path:
    """A trace of annotations one after another, with an operator in each."""
    events: list[dict[str, Any]] = []
    start_us = 1000
    for place, time_us in enumerate(times_us):
        common = {"ph": "X", "pid": 100, "tid": 1}
        label = name.format(place + 1)
        events.append({**common, "cat": "user_annotation", "name": label, "ts": start_us, "dur": time_us})
        events.append({**common, "cat": "cpu_op", "name": "aten::mm", "ts": start_us + 10, "dur": time_us - 20})
        start_us += time_us + 10
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def profile(path: Path, time_us: int) -> Path:
    """A cProfile profile as `pstats` reads it: one function that was called once."""
    time_s = time_us / 1e6
    path.write_bytes(marshal.dumps({("train.py", 10, "work"): (1, 1, time_s, time_s, {})}))
    return path


def check(candidates: list[Path], baseline: list[Path], *options: str) -> dict[str, Any]:
    """The row that `stepscope check` answers, with its exit code."""
    command = [sys.executable, "-m", "stepscope", "check", *map(str, candidates), *options, "-f", "json", "--against"]
    said = subprocess.run([*command, *map(str, baseline)], capture_output=True, text=True)
    assert said.stdout, said.stderr
    [row] = json.loads(said.stdout)["rows"]
    return {**row, "exit_code": said.returncode}


def detected(tmp_path: Path, candidate_us: list[int]) -> GateVerdict:
    """What a detector decides whose calls take these times, with three saved runs."""
    path = tmp_path / "baseline_metrics.json"
    for times_us in [*BASELINE, candidate_us]:
        detector = ss.PerformanceRegressionDetector(path)
        measured = detector.profiler.get_metrics
        for time_us in times_us:

            def given(name: str | None = None, time_us: int = time_us) -> Metrics:
                metrics = measured(name)
                return replace(metrics, timing=replace(metrics.timing, wall_time_s=time_us / 1e6))

            detector.profiler.get_metrics = given  # type: ignore[method-assign]
            with detector.check_regression("work", threshold=0.02):
                pass
        if times_us is not candidate_us:
            detector.save_baseline(append=True)
    result = detector.results[-1]
    assert result.gate is not None and result.verdict == result.gate.verdict
    assert detector.has_regression() == (result.verdict == "regression")
    return result.gate


def assert_equal(expected: GateVerdict, found: dict[str, Any], where: str) -> None:
    assert found["verdict"] == expected.verdict, where
    for figure in FIGURES:
        # `check` gives the inflation as the effective number of values.
        if figure in found:
            assert found[figure] == pytest.approx(getattr(expected, figure), abs=1e-9, rel=0), f"{where}: {figure}"


@pytest.mark.parametrize(("candidate_us", "verdict"), CASES, ids=[verdict for _, verdict in CASES])
def test_steps_regions_and_calls_get_one_verdict(candidate_us: list[int], verdict: str, tmp_path: Path) -> None:
    expected = judge("work", BASELINE, [candidate_us])
    assert expected.verdict == verdict
    for name, options in (("ProfilerStep#{}", ()), ("work", ("--metric", "region:work"))):
        folder = tmp_path / name.removesuffix("#{}")
        folder.mkdir()
        runs = [trace(folder / f"old{place}.json", name, times_us) for place, times_us in enumerate(BASELINE)]
        row = check([trace(folder / "new.json", name, candidate_us)], runs, *options)
        assert {"shift_ratio", "low_ratio", "high_ratio", "p"} <= row.keys()
        assert_equal(expected, row, name)
        assert row["exit_code"] == expected.exit_code, name
    assert_equal(expected, vars(detected(tmp_path, candidate_us)), "detector")


@pytest.mark.parametrize("candidate_us", [CASES[0][0], CASES[2][0]], ids=["slower", "same"])
def test_cprofile_profiles_are_one_value_each(candidate_us: list[int], tmp_path: Path) -> None:
    baseline_us = BASELINE[0]
    expected = judge("work", [[time_us] for time_us in baseline_us], [[time_us] for time_us in candidate_us])
    metrics = tmp_path / "metrics.json"
    metrics.write_text(json.dumps({"work": {"analysis": "functions", "column": "cumtime_ns", "row": "work"}}))
    old = [profile(tmp_path / f"old{place}.prof", time_us) for place, time_us in enumerate(baseline_us)]
    new = [profile(tmp_path / f"new{place}.prof", time_us) for place, time_us in enumerate(candidate_us)]
    row = check(new, old, "--metrics", str(metrics))
    assert row["baseline_values"] == row["candidate_values"] == 20
    assert_equal(expected, row, "profiles")
    assert row["exit_code"] == expected.exit_code
