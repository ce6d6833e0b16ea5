"""What was recorded is what is shown: steps, their samples, parts of steps, runs of one folder, and nothing at all."""

from __future__ import annotations

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from processes import mentions, run, run_command, traces  # noqa: E402

import stepscope as ss  # noqa: E402
from stepscope import errors  # noqa: E402

measures_time = pytest.mark.measures_time

HEAD = """
import sys, time, torch
from stepscope.torch import profile, schedule, trace_handler

def work():
    for _ in range(50):
        torch.ones(4).sin()
    time.sleep(0.005)
"""


def steps_of(folder: Path, **part: Any) -> list[dict[str, Any]]:
    return ss.open(folder).steps(**part).to_dict()["rows"]


def complete_steps(folder: Path) -> list[tuple[int, bool]]:
    rows = ss.open(folder).sql("SELECT name, is_complete FROM steps ORDER BY step").to_pylist()
    return [(int(row["name"].partition("#")[2]), row["is_complete"]) for row in rows]


@pytest.mark.parametrize("options", ["", "with_stack=True, ", "max_bytes='2MB', "])
def test_calls_of_step_without_a_schedule_are_steps_with_their_samples(options: str, tmp_path: Path) -> None:
    loop = f"""
with profile({options}on_trace_ready=trace_handler("runs")) as prof:
    for number in range(20):
        work()
        prof.step(samples=number + 1)
"""
    ended = run(tmp_path, HEAD + loop)
    assert ended.code == 0, ended.err
    assert "stepscope: 20 steps, " in ended.notes[-1]
    rows = steps_of(tmp_path / "runs")
    assert [(row["step"], row["samples"]) for row in rows] == [(number, number + 1) for number in range(20)]
    assert all(row["dur_ns"] >= 5_000_000 for row in rows)
    report = ss.open(tmp_path / "runs").steps().to_dict()
    assert report["samples_per_s"] == pytest.approx(210 / (sum(row["dur_ns"] for row in rows) / 1e9), rel=0.01)


def test_a_recording_without_step_has_no_marks(tmp_path: Path) -> None:
    ended = run(tmp_path, HEAD + 'with profile(on_trace_ready=trace_handler("runs")) as prof:\n    work()\n')
    assert ended.code == 0, ended.err
    (trace,) = traces(tmp_path / "runs")
    assert "ProfilerStep#" not in trace.read_text()


@pytest.mark.parametrize("plan", ["", "schedule=schedule(wait=0, warmup=1, active=100), "])
@pytest.mark.parametrize("end", ["time.sleep(0.5)", "work(); raise KeyError('lost')"])
def test_what_follows_the_last_step_is_incomplete(plan: str, end: str, tmp_path: Path) -> None:
    loop = f"""
with profile({plan}on_trace_ready=trace_handler("runs")) as prof:
    for _ in range(5):
        work()
        prof.step(samples=1)
    {end}
"""
    ended = run(tmp_path, HEAD + loop)
    assert ("KeyError: 'lost'" in ended.err) == ("lost" in end)
    first = 1 if plan else 0
    expected = [(number, True) for number in range(first, 5)] + [(5, False)]
    assert complete_steps(tmp_path / "runs") == expected
    steps = ss.open(tmp_path / "runs").steps()
    assert "1 incomplete step left out of percentiles" in str(steps)
    assert ss.open(tmp_path / "runs").sources[0]["complete_steps"] == 5 - first
    whole_ns = [row["dur_ns"] for row in steps.to_dict()["rows"] if row["is_complete"]]
    assert len(whole_ns) == 5 - first
    assert steps.to_dict()["samples_per_s"] == pytest.approx(len(whole_ns) / (sum(whole_ns) / 1e9), rel=0.01)


@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        (
            "for _ in range(3):\n        work()\n        prof.step()",
            "the program ended after 3 steps, and the schedule skips 11; ",
        ),
        ("for _ in range(3):\n        work()", "step() was not called; call prof.step() after each iteration"),
    ],
)
def test_nothing_recorded_says_so_and_why(loop: str, reason: str, tmp_path: Path) -> None:
    plan = "schedule=schedule(wait=10, warmup=1, active=3)"
    ended = run(tmp_path, f'{HEAD}\nwith profile({plan}, on_trace_ready=trace_handler("runs")) as prof:\n    {loop}\n')
    assert ended.code == 0 and traces(tmp_path) == []
    (note,) = ended.notes
    assert note.startswith(f"stepscope: nothing recorded: {reason}")


@measures_time
def test_a_cap_holds_without_steps(tmp_path: Path) -> None:
    loop = """
with profile(max_bytes="2MB", on_trace_ready=trace_handler("runs")) as prof:
    end = time.monotonic() + 3
    while time.monotonic() < end:
        for _ in range(1000):
            torch.ones(4).sin()
    torch.ones(2).cos()
print(any(row.key == "aten::cos" for row in prof.key_averages()), "done")
"""
    ended = run(tmp_path, HEAD + loop)
    assert (ended.code, ended.out) == (0, "False done\n"), ended.err
    assert mentions(ended.notes, r"stopped recording after [01]\.\d s without a call of step\(\).*max_bytes \(2\.0 MB\)")
    (trace,) = traces(tmp_path / "runs")
    # Four looks per second: what an operator every microsecond or two fills in that time, or a little longer where the
    # look has to wait for its turn; the loop runs for three seconds.
    assert 500_000 < trace.stat().st_size < 120_000_000
    assert ss.open(trace).summary()


def test_a_quiet_recording_without_steps_is_not_cut(tmp_path: Path) -> None:
    loop = """
with profile(max_bytes="20MB", on_trace_ready=trace_handler("runs")):
    torch.ones(2).sin()
    time.sleep(1)
    torch.ones(2).cos()
"""
    ended = run(tmp_path, HEAD + loop)
    (trace,) = traces(tmp_path / "runs")
    assert '"aten::cos"' in trace.read_text() and not mentions(ended.notes, "stopped")


TRAIN = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.ones(40, 4)
batches = {batches}
for epoch in range({epochs}):
    for batch in batches:
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
"""
LOADER = "DataLoader(data, batch_size=4)"
PLAIN = "[data[:4]] * 10"


@pytest.mark.parametrize(
    ("batches", "epochs", "options", "reason"),
    [
        (PLAIN, 2, [], "no DataLoader was read to its end"),
        (PLAIN, 2, ["--profiling.wait=0", "--profiling.warmup=0"], "no DataLoader was read to its end"),
        (LOADER, 1, [], "the script ended after 1 epoch, and the schedule skips 2"),
        (LOADER, 2, [], "the script ended after 2 epochs, and the schedule skips 2"),
        (LOADER, 2, ["--profiling.wait=5"], "the script ended after 2 epochs, and the schedule skips 6"),
    ],
)
def test_a_run_with_too_few_epochs_records_steps(
    batches: str, epochs: int, options: list[str], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(TRAIN.format(batches=batches, epochs=epochs))
    ended = run_command(tmp_path, [sys.executable, "-m", "stepscope", "run", *options, "train.py"])
    assert ended.code == 0, ended.err
    (note,) = ended.notes
    assert note.startswith(f"stepscope: recorded 3 steps instead of epochs: {reason}; open with: ")
    (trace,) = traces(tmp_path / "runs")
    assert [complete for _, complete in complete_steps(trace.parent)] == [True] * 3
    optimizer_steps = trace.read_text().count('"Optimizer.step#SGD.step"')
    assert optimizer_steps == 3


@pytest.mark.parametrize("options", [[], ["--profiling.wait=0"], ["--profiling.wait=1", "--profiling.warmup=0"]])
def test_enough_epochs_replace_the_steps(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.format(batches=LOADER, epochs=6))
    ended = run_command(tmp_path, [sys.executable, "-m", "stepscope", "run", *options, "train.py"])
    assert mentions(ended.notes, "recorded 3 epochs; open with") and len(ended.notes) == 1
    (trace,) = traces(tmp_path / "runs")
    first = 1 if options else 2
    assert complete_steps(trace.parent) == [(number, True) for number in range(first, first + 3)]
    assert trace.read_text().count('"Optimizer.step#SGD.step"') == 30


def test_a_run_is_called_by_its_script(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.format(batches=PLAIN, epochs=2))
    run_command(tmp_path, [sys.executable, "-m", "stepscope", "run", "train.py"])
    (trace,) = traces(tmp_path / "runs")
    assert re.fullmatch(r"train_\d{4}-\d\d-\d\d_[a-z0-9]{6}", ss.open(trace.parent).name)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_script_run_twice_into_one_folder_is_two_runs(at_once: bool, tmp_path: Path) -> None:
    loop = """
with profile(on_trace_ready=trace_handler("runs", ingest=True)) as prof:
    for number in range(3):
        work()
        time.sleep(0.3)
        prof.step()
"""
    with ThreadPoolExecutor(2 if at_once else 1) as threads:
        for ended in threads.map(lambda _: run(tmp_path, HEAD + loop), range(2)):
            assert ended.code == 0 and not mentions(ended.notes, "could not be ingested"), ended.err
    with pytest.raises(errors.UsageError, match="2 runs"):
        ss.open(tmp_path / "runs")
    for trace in traces(tmp_path / "runs"):
        worker = trace.name.split(".")[0]
        assert len(ss.open(tmp_path / "runs", run=worker).steps().to_dict()["rows"]) == 3


@measures_time
def test_overhead_is_not_announced_from_noise(tmp_path: Path) -> None:
    """A loader that hands out nothing for a while makes a recorded step slow, and is not the profiler."""
    loop = """
plan = schedule(wait=4, warmup=1, active=3, repeat=1)
with profile(schedule=plan, on_trace_ready=trace_handler("runs")) as prof:
    for number in range(12):
        work()
        time.sleep({pause})
        prof.step()
print(prof.overhead)
"""
    for pause in ("0.2 if number in (5, 6) else 0.001", "0.05 * (number % 3)"):
        ended = run(tmp_path, HEAD + loop.format(pause=pause))
        assert ended.code == 0, ended.err
        # What recording itself takes may show where steps without a pause are alike.
        assert ended.out == "None\n" or float(ended.out) < 1, ended.err


@measures_time
def test_overhead_that_is_more_than_noise_is_announced(tmp_path: Path) -> None:
    loop = """
plan = schedule(wait=6, warmup=1, active=3, repeat=1)
with profile(schedule=plan, with_stack=True, record_shapes=True, on_trace_ready=trace_handler("runs")) as prof:
    for number in range(16):
        time.sleep(0.02 if prof.current_action.name.startswith("RECORD") else 0.005)
        prof.step()
print(prof.overhead > 1)
"""
    ended = run(tmp_path, HEAD + loop)
    assert (ended.code, ended.out) == (0, "True\n"), ended.err
    assert mentions(ended.notes, r"recording changed the time per step by \+\d{3}%")
