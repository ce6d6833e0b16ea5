"""The capture budget: what is foretold, what is recorded under a cap, and that the schedule stays the user's."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.profiler  # noqa: E402
from torch_loops import conv_step, mlp_step, tiny_ops_step, transformer_step  # noqa: E402

from stepscope.torch import (  # noqa: E402
    CaptureWarning,
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    trace_handler,
)
from stepscope.torch.budget import plan_of  # noqa: E402

pytestmark = pytest.mark.measures_time

EVERYTHING = {"with_stack": True, "record_shapes": True, "profile_memory": True}
CPU = [ProfilerActivity.CPU]


def only_trace(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def read_events(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["traceEvents"]


def recorded_steps(path: Path) -> list[int]:
    names = [event["name"] for event in read_events(path) if event["ph"] == "X"]
    return sorted(int(name.partition("#")[2]) for name in names if name.startswith("ProfilerStep#"))


@pytest.mark.parametrize(
    ("make_step", "options"),
    [
        (mlp_step, {}),
        (conv_step, {}),
        (transformer_step, {}),
        (tiny_ops_step, {}),
        (mlp_step, EVERYTHING),
        (conv_step, EVERYTHING),
    ],
)
@pytest.mark.parametrize(("wait", "warmup"), [(1, 1), (1, 3), (2, 0)])
def test_prediction_is_near_the_real_size(
    make_step: Any, options: dict[str, bool], wait: int, warmup: int, tmp_path: Path
) -> None:
    step = make_step()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Profiler won't be using warmup")
        plan = schedule(wait=wait, warmup=warmup, active=3, repeat=1)
    with profile(activities=CPU, schedule=plan, on_trace_ready=trace_handler(str(tmp_path)), **options) as prof:
        for _ in range(wait + warmup + 3 + 2):
            step()
            prof.step()
    trace = only_trace(tmp_path)
    assert prof.prediction is not None
    assert prof.prediction.steps == 3
    assert prof.prediction.size_bytes == pytest.approx(trace.stat().st_size, rel=0.15)
    assert prof.prediction.events == pytest.approx(len(read_events(trace)), rel=0.15)
    assert (prof.prediction.overhead is None) == (wait + warmup < 3)
    assert recorded_steps(trace) == [wait + warmup + active for active in range(3)]


def test_a_cap_of_20_mb_holds_on_a_loop_of_500_mb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step = tiny_ops_step(2000)
    plan = schedule(wait=1, warmup=1, active=250, repeat=1)
    finished = 0
    with pytest.warns(CaptureWarning, match=r"250 steps will take about [\d.]+ MB"):
        with profile(
            activities=CPU, schedule=plan, on_trace_ready=trace_handler(str(tmp_path)), max_bytes=20_000_000
        ) as prof:
            for _ in range(260):
                step()
                prof.step()
                finished += 1
    assert prof.prediction is not None and prof.prediction.size_bytes > 500_000_000
    assert finished == 260
    trace = only_trace(tmp_path)
    assert 15_000_000 < trace.stat().st_size <= 22_000_000
    steps = recorded_steps(trace)
    assert steps == list(range(2, 2 + len(steps)))
    said = capsys.readouterr().err
    assert f"stopped recording after {len(steps)} steps: the next step would exceed max_bytes (20.0 MB)" in said
    assert f"stepscope: {len(steps)} steps, " in said
    count = next(row.count for row in prof.key_averages() if row.key == "aten::add")
    assert count == 2000 * len(steps)


def test_a_cap_on_events_holds(tmp_path: Path) -> None:
    step = tiny_ops_step(100)
    plan = schedule(wait=0, warmup=1, active=50, repeat=1)
    with pytest.warns(CaptureWarning, match=r"max_events \(2,000\)"):
        options: dict[str, Any] = {"on_trace_ready": trace_handler(str(tmp_path)), "max_events": 2000}
        with profile(activities=CPU, schedule=plan, **options) as prof:
            for _ in range(60):
                step()
                prof.step()
    assert 1000 < len(read_events(only_trace(tmp_path))) <= 2000


def test_a_step_larger_than_the_cap_leaves_the_program_unharmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = tiny_ops_step(500)
    plan = schedule(wait=0, warmup=1, active=2, repeat=1)
    with pytest.warns(CaptureWarning):
        options: dict[str, Any] = {"on_trace_ready": trace_handler(str(tmp_path)), "max_bytes": 9000}
        with profile(activities=CPU, schedule=plan, **options) as prof:
            for _ in range(5):
                step()
                prof.step()
    assert "stopped recording after 0 steps" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert len(prof.key_averages()) == 0
    assert prof.key_averages().table(sort_by="cpu_time_total") == ""
    prof.export_chrome_trace(str(tmp_path / "blank.json"))
    assert not [event for event in read_events(tmp_path / "blank.json") if event.get("cat") == "cpu_op"]


@pytest.mark.parametrize("acc_events", [False, True])
@pytest.mark.parametrize("scheduled", [False, True])
def test_without_a_step_before_it_the_first_part_is_measured_and_kept(
    scheduled: bool, acc_events: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = tiny_ops_step(500)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Profiler won't be using warmup")
        options = {"schedule": schedule(wait=0, warmup=0, active=100, repeat=1)} if scheduled else {}
    path = str(tmp_path / "trace.json.gz")
    with profile(
        activities=CPU, max_bytes=4_000_000, with_stack=True, acc_events=acc_events,
        on_trace_ready=lambda prof: prof.export_chrome_trace(path), **options,
    ) as prof:  # fmt: skip
        for _ in range(50):
            step()
            prof.step(samples=3)
    assert prof.prediction is None
    told = re.search(r"stopped recording after (\d+) steps", capsys.readouterr().err)
    assert told is not None
    steps = int(told[1])
    assert 1 < steps < 50
    prof.export_chrome_trace(str(tmp_path / "plain.json"))
    assert 2_000_000 < (tmp_path / "plain.json").stat().st_size < 4_400_000
    document = json.loads((tmp_path / "plain.json").read_text())
    events = document["traceEvents"]
    assert sum(event["name"] == "aten::add" for event in events) == 500 * steps
    assert next(row.count for row in prof.key_averages() if row.key == "aten::add") == 500 * steps
    assert sum(event.name == "aten::add" for event in prof.events()) == 500 * steps
    assert document["stepscope_samples_per_step"] == {str(number): 3 for number in range(steps)}
    assert len([event for event in events if event.get("cat") == "Trace"]) == 1
    python_ids = Counter(event["args"]["Python id"] for event in events if event.get("cat") == "python_function")
    assert max(python_ids.values()) == 1


def test_a_small_recording_without_schedule_is_one_piece(tmp_path: Path) -> None:
    step = mlp_step()
    with profile(activities=CPU) as prof:
        step()
        prof.step()
        step()
        prof.step()
    assert prof._recording.earlier_part is None
    assert next(row.count for row in prof.key_averages() if row.key == "aten::linear") == 4


def test_every_cycle_of_a_schedule_is_recorded_and_the_cap_bounds_their_sum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = mlp_step()

    def run(folder: Path, **options: Any) -> list[list[int]]:
        plan = schedule(wait=1, warmup=1, active=2)
        with profile(activities=CPU, schedule=plan, on_trace_ready=trace_handler(str(folder)), **options) as prof:
            for _ in range(17):
                step()
                prof.step()
        return [recorded_steps(path) for path in sorted(folder.iterdir())]

    assert run(tmp_path / "all") == [[2, 3], [6, 7], [10, 11], [14, 15]]
    size_bytes = next((tmp_path / "all").iterdir()).stat().st_size
    assert run(tmp_path / "two", max_bytes=round(size_bytes * 2.2)) == [[2, 3], [6, 7]]
    said = capsys.readouterr().err
    assert "stepscope: 8 steps, " in said
    assert "stopped recording after 4 steps" in said


@pytest.mark.parametrize("skip_first", [0, 2])
@pytest.mark.parametrize("wait", [0, 1])
@pytest.mark.parametrize("warmup", [0, 1, 2])
@pytest.mark.parametrize("active", [1, 3])
@pytest.mark.parametrize("repeat", [0, 1])
@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_the_same_steps_are_recorded_as_by_torch(
    skip_first: int, wait: int, warmup: int, active: int, repeat: int, tmp_path: Path
) -> None:
    plan = schedule(skip_first=skip_first, wait=wait, warmup=warmup, active=active, repeat=repeat)

    def recorded(profile_class: Any, steps: int) -> list[tuple[int, Counter[str]]]:
        traces: list[tuple[int, Counter[str]]] = []

        def keep(prof: Any) -> None:
            names = (event.name for event in prof.events())
            traces.append((prof.step_num, Counter(name for name in names if name.startswith(("Prof", "aten::add")))))

        with profile_class(activities=CPU, schedule=plan, on_trace_ready=keep) as prof:
            for _ in range(steps):
                torch.ones(2) + 1
                prof.step()
        return traces

    for steps in (0, 4, 11):
        assert recorded(profile, steps) == recorded(torch.profiler.profile, steps)


def test_the_measured_step_leaves_no_trace_in_what_the_user_gets(tmp_path: Path) -> None:
    step = mlp_step()
    ready: list[int] = []
    observed: list[str] = []

    class Observer:
        def start(self) -> None:
            observed.append(f"start {prof.step_num}")

        def stop(self) -> None:
            observed.append(f"stop {prof.step_num}")

        def cleanup(self) -> None: ...

    prof = profile(
        activities=CPU,
        schedule=schedule(wait=0, warmup=2, active=2, repeat=1),
        on_trace_ready=lambda finished: ready.append(finished.step_num),
        execution_trace_observer=Observer(),
        acc_events=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with prof:
            for number in range(6):
                if number == 1:
                    prof.add_metadata("note", 'a "word" during warm-up in C:\\')
                step()
                prof.step(samples=number)
    assert ready == [4]
    assert observed == ["start 2", "stop 4"]
    assert next(row.count for row in prof.key_averages() if row.key == "aten::linear") == 4
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    document = json.loads((tmp_path / "trace.json").read_text())
    assert document["note"] == "a 'word' during warm-up in C:/"
    assert document["stepscope_samples_per_step"] == {"2": 2, "3": 3}
    assert recorded_steps(tmp_path / "trace.json") == [2, 3]


def test_a_loop_that_ends_in_the_measured_step_gives_an_empty_trace() -> None:
    ready: list[Any] = []
    with profile(activities=CPU, schedule=schedule(wait=0, warmup=1, active=2), on_trace_ready=ready.append) as prof:
        mlp_step()()
    assert ready == []
    assert len(prof.key_averages()) == 0


def test_a_schedule_of_the_user_is_never_asked_ahead() -> None:
    asked: list[int] = []

    def my_schedule(step: int) -> ProfilerAction:
        asked.append(step)
        return [ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD_AND_SAVE, ProfilerAction.NONE][step]

    ready: list[int] = []
    with profile(schedule=my_schedule, activities=CPU, on_trace_ready=lambda prof: ready.append(prof.step_num)) as prof:
        for _ in range(3):
            prof.step()
    assert asked == [0, 1, 2, 3]
    assert ready == [3]
    assert prof.prediction is None


def test_a_cap_must_be_positive() -> None:
    with pytest.raises(ValueError, match="max_bytes: expected a number of bytes, or a size such as 512MiB or 2GB, found 0"):
        profile(max_bytes=0)


def test_without_room_for_temporary_files_everything_but_the_cap_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(**_: Any) -> str:
        raise OSError("no space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    step = mlp_step()
    with profile(activities=CPU, schedule=schedule(wait=0, warmup=1, active=2, repeat=1)) as prof:
        for _ in range(4):
            step()
            prof.step()
    assert capsys.readouterr().err.count("no cap applies, as no step can be measured: no space left") == 1
    assert next(row.count for row in prof.key_averages() if row.key == "aten::linear") == 4


def test_a_large_trace_is_announced_even_below_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    step = mlp_step()

    def run(large_trace_bytes: int) -> list[str]:
        monkeypatch.setattr("stepscope.torch.budgeted.LARGE_TRACE_BYTES", large_trace_bytes)
        with warnings.catch_warnings(record=True) as caught:
            with profile(activities=CPU, schedule=schedule(wait=2, warmup=1, active=1, repeat=1)) as prof:
                for _ in range(5):
                    step()
                    prof.step()
        assert all(warning.filename == __file__ for warning in caught)
        return [str(warning.message) for warning in caught]

    assert run(500_000_000) == []
    (announced,) = run(10_000)
    assert re.match(r"1 step will take about [\d.]+ kB and \d+ events; ", announced)


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_traces_of_a_single_step_count_against_the_cap(tmp_path: Path) -> None:
    step = mlp_step()
    handler = trace_handler(str(tmp_path))
    plan = schedule(wait=0, warmup=0, active=1)
    with profile(activities=CPU, schedule=plan, on_trace_ready=handler, max_bytes=200_000) as prof:
        for _ in range(20):
            step()
            prof.step()
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert 2 <= len(sizes) < 10
    assert 120_000 <= sum(sizes) <= 200_000


def test_a_plan_is_read_from_the_schedule() -> None:
    def check(measured_step: int | None, steps: int | None, **numbers: int) -> None:
        assert plan_of(schedule(**numbers)) == (measured_step, steps)

    check(1, 3, wait=1, warmup=1, active=3)
    check(0, 1, wait=0, warmup=1, active=1, repeat=2)
    check(11, 2, skip_first=10, wait=0, warmup=2, active=2)
    check(0, 99_999, wait=0, warmup=1, active=1_000_000)
    check(None, None, wait=1_000_000, warmup=1, active=1)
    assert plan_of(None) == (None, None)
    assert plan_of(lambda step: ProfilerAction.RECORD) == (None, None)
