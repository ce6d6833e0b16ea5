"""A training loop goes on and ends as it would without a profiler: full disks, signals, a second profiler."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from processes import Ended, mentions, run, run_command, signaled, small_disk, traces  # noqa: E402

measures_time = pytest.mark.measures_time

LOOP = """
import sys, time, torch, torch.profiler
import stepscope as ss
from stepscope.torch import profile, schedule, trace_handler
folder = sys.argv[1]

def work():
    for _ in range(200):
        torch.ones(4).sin()

def loop(profile_class=profile, steps=12, **options):
    options.setdefault("schedule", schedule(wait=1, warmup=1, active=1))
    with profile_class(on_trace_ready=trace_handler(folder, use_gzip="gz" in sys.argv), **options) as prof:
        for _ in range(steps):
            work()
            prof.step()
    return prof
"""
DONE = "\nprof = loop({})\nprint(len(prof.key_averages()) > 0, 'done')\n"


def check_that_it_went_on(ended: Ended, reason: str) -> None:
    assert (ended.code, ended.out) == (0, "True done\n"), ended.err
    assert len(ended.notes) == 1, ended.notes
    assert mentions(ended.notes, reason) and "the program continues" in ended.notes[0]


@pytest.mark.parametrize("arguments", [[], ["gz"]])
@pytest.mark.parametrize("profile_class", ["profile", "torch.profiler.profile"])
def test_a_full_disk_is_said_once_and_at_the_start(arguments: list[str], profile_class: str, tmp_path: Path) -> None:
    with small_disk(tmp_path / "full") as full:
        ended = run(tmp_path, LOOP + DONE.format(profile_class), str(full), *arguments)
        assert list(full.iterdir()) == []
    check_that_it_went_on(ended, r"cannot write traces to \S+: no space left, only 8\.2 kB")


def test_a_disk_that_will_be_too_small_is_said_before_the_recording(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "100k") as small:
        ended = run(tmp_path, LOOP + DONE.format("schedule=schedule(wait=1, warmup=1, active=9, repeat=1)"), str(small))
        assert list(small.iterdir()) == []
    check_that_it_went_on(ended, r"the next trace will not fit into \S+: 102\.4 kB free, a trace will take about \d")


def test_a_disk_that_fills_up_is_said_once(tmp_path: Path) -> None:
    filling = LOOP + """
def work(work=work):
    try:
        open(folder + "/file", "ab").write(bytes(100_000))
    except OSError:
        pass
    work()
"""
    with small_disk(tmp_path / "full", "1m") as full:
        ended = run(tmp_path, filling + DONE.format(""), str(full))
        left = {path.suffix for path in full.iterdir() if path.name != "file"}
    assert (ended.code, ended.out) == (0, "True done\n"), ended.err
    assert left <= {".json"}, "nothing that is not whole"
    why = r"no trace was written to \S+: No space left on device; the program continues"
    assert len(mentions(ended.notes, why)) == 1


@pytest.mark.parametrize("profile_class", ["profile", "torch.profiler.profile"])
def test_a_folder_that_cannot_be_made_is_said_once(profile_class: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = run(tmp_path, LOOP + DONE.format(profile_class), "file/runs")
    check_that_it_went_on(ended, r"cannot write traces to file/runs: not a folder: \S+/file")


def test_no_room_for_temporary_files_costs_the_cap_and_nothing_else(tmp_path: Path) -> None:
    with small_disk(tmp_path / "full") as full:
        ended = run(tmp_path, LOOP + DONE.format(""), "runs", TMPDIR=str(full))
    assert (ended.code, ended.out) == (0, "True done\n"), ended.err
    assert len(mentions(ended.notes, "no cap applies.*No space left on device; set TMPDIR")) == 1
    assert len(traces(tmp_path / "runs")) == 4


def test_a_run_of_the_command_goes_on_with_a_full_disk(tmp_path: Path) -> None:
    steps = "for _ in range(9):\n    torch.ones(4).sin()\n    stepscope.step()\nprint('done')\n"
    (tmp_path / "train.py").write_text(f"import stepscope, torch\n{steps}")
    with small_disk(tmp_path / "full") as full:
        options = ["--output", str(full), "--profiling.unit=steps"]
        ended = run_command(tmp_path, [sys.executable, "-m", "stepscope", "run", *options, "train.py"])
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    first, last = ended.notes
    assert "cannot write traces to" in first and "no space left" in first
    assert "no trace was written to" in last


ENDLESS = """
with profile(schedule=schedule(wait=0, warmup=1, active=100), on_trace_ready=trace_handler(folder)) as prof:
    for number in range(1_000_000):
        work()
        time.sleep(0.01)
        prof.step()
        if number == 6:
            print("recording", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@measures_time
def test_a_signal_that_ends_the_program_leaves_a_trace(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP + ENDLESS)
    ended = signaled(tmp_path, [sys.executable, "train.py", "runs"], ("recording", number))
    assert ended.code == -number, ended.err
    (trace,) = traces(tmp_path / "runs")
    assert json.loads(trace.read_text())["traceEvents"]
    assert "open with: stepscope open runs" in ended.notes[-1]


@measures_time
def test_a_signal_before_the_first_recorded_step_says_that_there_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP + ENDLESS.replace("wait=0", "wait=1000"))
    ended = signaled(tmp_path, [sys.executable, "train.py", "runs"], ("recording", signal.SIGTERM))
    assert ended.code == -signal.SIGTERM and traces(tmp_path) == []
    assert mentions(ended.notes, r"nothing recorded: the program ended after \d+ steps, and the schedule skips 1,001")


@pytest.mark.parametrize("installed", ["before", "after"])
@measures_time
def test_a_handler_of_the_program_stays_in_charge(installed: str, tmp_path: Path) -> None:
    own = "import signal\ndef own(number, frame):\n    print('own', flush=True)\n    sys.exit(7)\n"
    use = "signal.signal(signal.SIGTERM, own)\n"
    endless = ENDLESS if installed == "before" else ENDLESS.replace("    for", f"    {use}    for", 1)
    (tmp_path / "train.py").write_text(LOOP + own + (use if installed == "before" else "") + endless)
    ended = signaled(tmp_path, [sys.executable, "train.py", "runs"], ("recording", signal.SIGTERM))
    assert (ended.code, ended.out) == (7, "own\n")
    assert len(traces(tmp_path / "runs")) == 1


def test_signals_are_what_they_were_after_the_profiler(tmp_path: Path) -> None:
    code = LOOP + "import signal\nbefore = [signal.getsignal(number) for number in (1, 2, 15)]\nloop()\n"
    ended = run(tmp_path, code + "print(before == [signal.getsignal(number) for number in (1, 2, 15)])\n", "runs")
    assert (ended.code, ended.out) == (0, "True\n"), ended.err


def test_a_fork_of_the_program_ends_by_its_own_signal(tmp_path: Path) -> None:
    code = LOOP + """
import os, signal
with profile(on_trace_ready=trace_handler(folder)) as prof:
    work()
    child = os.fork()
    if child == 0:
        time.sleep(60)
    time.sleep(0.2)
    os.kill(child, signal.SIGTERM)
    print(os.WTERMSIG(os.waitpid(child, 0)[1]))
    time.sleep(0.2)
print("done")
"""
    ended = run(tmp_path, code, "runs")
    assert (ended.code, ended.out) == (0, "15\ndone\n"), ended.err
    assert len(traces(tmp_path / "runs")) == 1


@measures_time
def test_a_program_that_is_stuck_in_a_library_ends_all_the_same(tmp_path: Path) -> None:
    stuck = """
import ctypes, stepscope.termination
stepscope.termination.PATIENCE_S = 0.5
mutex = ctypes.create_string_buffer(64)
with profile(on_trace_ready=trace_handler(folder)) as prof:
    work()
    print("stuck", flush=True)
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(mutex)
"""
    (tmp_path / "train.py").write_text(LOOP + stuck)
    ended = signaled(tmp_path, [sys.executable, "train.py", "runs"], ("stuck", signal.SIGTERM))
    assert ended.code == 128 + signal.SIGTERM
    assert mentions(ended.notes, "no trace was written: the program did not respond to SIGTERM")


SLOW_EXPORT = """
import stepscope.torch.budgeted as budgeted
def slow(path):
    print("writing", flush=True)
    time.sleep(30)
budgeted.measure_trace = slow
"""


@measures_time
def test_a_second_interrupt_says_that_there_is_no_trace(tmp_path: Path) -> None:
    endless = ENDLESS.replace("schedule=schedule(wait=0, warmup=1, active=100), ", "")
    slow = SLOW_EXPORT.replace("\n", "\n            ")
    (tmp_path / "train.py").write_text(LOOP + endless.replace('print("recording"', f'{slow}print("recording"'))
    command = [sys.executable, "train.py", "runs"]
    ended = signaled(tmp_path, command, ("recording", signal.SIGINT), ("writing", signal.SIGINT))
    assert ended.code == -signal.SIGINT and ended.err.count("KeyboardInterrupt") == 2
    assert ended.notes == ["stepscope: no trace was written: interrupted before it was complete"]
    assert list((tmp_path / "runs").iterdir()) == []


@measures_time
def test_one_interrupt_leaves_a_trace(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP + ENDLESS)
    ended = signaled(tmp_path, [sys.executable, "train.py", "runs"], ("recording", signal.SIGINT))
    assert ended.code == -signal.SIGINT and len(traces(tmp_path / "runs")) == 1


SCRIPT = "import sys, time, torch, stepscope\n" + """
for number in range(1_000_000):
    for _ in range(200):
        torch.ones(4).sin()
    stepscope.step()
    time.sleep(0.01)
    if number == 6:
        print("recording", flush=True)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)])
@measures_time
def test_a_run_of_the_command_that_is_ended_leaves_a_trace(number: signal.Signals, code: int, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    options = ["--profiling.unit=steps", "--profiling.active=100"]
    command = [sys.executable, "-m", "stepscope", "run", *options, "train.py"]
    ended = signaled(tmp_path, command, ("recording", number))
    assert ended.code == code, ended.err
    assert len(traces(tmp_path / "runs")) == 1
    assert mentions(ended.notes, r"recorded \d+ steps.*; open with")


@measures_time
def test_a_second_interrupt_of_the_command_says_that_there_is_no_trace(tmp_path: Path) -> None:
    slow = SLOW_EXPORT.replace("\n", "\n        ")
    (tmp_path / "train.py").write_text(SCRIPT.replace('print("recording"', f'{slow}print("recording"'))
    options = ["--profiling.unit=steps", "--profiling.active=100"]
    command = [sys.executable, "-m", "stepscope", "run", *options, "train.py"]
    ended = signaled(tmp_path, command, ("recording", signal.SIGINT), ("writing", signal.SIGINT))
    assert (ended.code, traces(tmp_path)) == (130, [])
    assert ended.notes == ["stepscope: no trace was written: interrupted before it was complete"]


@measures_time
def test_a_function_profile_survives_sigterm(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time\nprint('recording', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "stepscope", "run", "--cprofile", "train.py"]
    ended = signaled(tmp_path, command, ("recording", signal.SIGTERM))
    assert ended.code == -signal.SIGTERM
    assert len(list(tmp_path.rglob("train.prof"))) == 1 and mentions(ended.notes, r"recorded \d+ function")


@measures_time
def test_the_time_of_lines_survives_sigterm(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time\nprint('recording', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "stepscope", "lines", "-f", "csv", "train.py"]
    ended = signaled(tmp_path, command, ("recording", signal.SIGTERM))
    assert ended.code == -signal.SIGTERM
    assert "print('recording', flush=True)" in ended.out


def test_a_profiler_that_nobody_stops_leaves_a_trace(tmp_path: Path) -> None:
    code = "prof = profile(on_trace_ready=trace_handler(folder))\nprof.start()\nwork()\nprof.step()\n"
    ended = run(tmp_path, f"{LOOP}{code}raise KeyError('lost')\n", "runs")
    assert ended.code == 1 and "KeyError: 'lost'" in ended.err
    assert len(traces(tmp_path / "runs")) == 1


def test_exceptions_of_the_program_stay_its_own(tmp_path: Path) -> None:
    code = LOOP + """
def broken(prof):
    raise KeyError("mine")
try:
    with profile(on_trace_ready=broken):
        work()
except KeyError as error:
    print(error)
try:
    with profile(schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=broken) as prof:
        for _ in range(9):
            work()
            prof.step()
except KeyError as error:
    print(error, prof.step_num)
"""
    ended = run(tmp_path, code, "runs")
    assert (ended.code, ended.out) == (0, "'mine'\n'mine' 2\n"), ended.err


@pytest.mark.parametrize("outer", ["profile", "torch.profiler.profile", "torch.autograd.profiler.profile"])
@pytest.mark.parametrize("inner", ["profile", "torch.profiler.profile", "torch.autograd.profiler.profile"])
def test_a_second_profiler_is_refused_by_name(outer: str, inner: str, tmp_path: Path) -> None:
    if "torch." in outer and "torch." in inner:
        pytest.skip("two of torch's own are not ours to refuse")
    code = LOOP + f"""
with {outer}() as first:
    work()
    try:
        with {inner}():
            work()
    except RuntimeError as error:
        print(type(error).__name__, error)
    work()
print(next(row.count for row in first.key_averages() if row.key == "aten::sin"))
with {inner}() as later:
    work()
print(next(row.count for row in later.key_averages() if row.key == "aten::sin"))
"""
    ended = run(tmp_path, code, "runs")
    name = "stepscope.torch.profile" if outer == "profile" else "a profiler of torch"
    line = code.splitlines().index(f"with {outer}() as first:") + 1
    assert ended.code == 0, ended.err
    message, place, hint, *counts = ended.out.splitlines()
    assert message == f"ProfilerBusyError another profiler is recording: {name}"
    assert place == f"  --> {tmp_path / 'train.py'}:{line}"
    assert hint.startswith("hint: stop it first")
    assert counts == ["400", "200"]


def test_a_loop_that_meets_another_profiler_goes_on_without(tmp_path: Path) -> None:
    code = LOOP + """
with profile(schedule=schedule(wait=3, warmup=1, active=2, repeat=2), on_trace_ready=trace_handler(folder)) as prof:
    for number in range(12):
        if number == 2:
            other = torch.profiler.profile()
            other.start()
        if number == 8:
            other.stop()
        work()
        prof.step()
print(next(row.count for row in other.key_averages() if row.key == "aten::sin"))
"""
    ended = run(tmp_path, code, "runs")
    assert (ended.code, ended.out) == (0, "1200\n"), ended.err
    why = "not recording: another profiler is already recording: a profiler of torch, .*train.py"
    assert len(mentions(ended.notes, why)) == 1
    (trace,) = traces(tmp_path / "runs")
    assert '"ProfilerStep#10"' in trace.read_text()


def test_a_region_that_outlives_its_recording_harms_nothing(tmp_path: Path) -> None:
    """Torch 2.15 writes its end into memory that is gone: one program of four crashed that way."""
    code = LOOP + """
from torch.profiler import record_function
plan = schedule(wait=0, warmup=1, active=1)
with profile(schedule=plan, on_trace_ready=trace_handler(folder)) as prof:
    outer = record_function("outer")
    for number in range(12):
        outer.__enter__()
        work()
        prof.step()
        work()
        outer.__exit__(None, None, None)
with profile() as later:
    with record_function("later"):
        work()
print([row.key for row in later.key_averages() if row.key in ("outer", "later")])
"""
    ended = run(tmp_path, code, "runs", MALLOC_PERTURB_="165")
    assert (ended.code, ended.out) == (0, "['later']\n"), ended.err
    for trace in traces(tmp_path / "runs"):
        regions = [event for event in json.loads(trace.read_text())["traceEvents"] if event["name"] == "outer"]
        # The one that ends inside of it, and the one that the end of the recording ends.
        assert len(regions) == 1 and regions[0]["args"].get("finished", True)


def test_a_script_whose_recording_begins_inside_the_optimizer_does_not_crash(tmp_path: Path) -> None:
    training = "\n".join([
        "import torch",
        "parameter = torch.nn.Parameter(torch.ones(2))",
        "parameter.grad = torch.ones(2)",
        "optimizer = torch.optim.SGD([parameter], lr=0.1)",
        "for _ in range(20):",
        "    optimizer.step()",
    ])  # fmt: skip
    (tmp_path / "train.py").write_text(training)
    for number in range(6):
        ended = run_command(tmp_path, [sys.executable, "-m", "stepscope", "run", "train.py"], MALLOC_PERTURB_=f"{number}")
        assert ended.code == 0, ended.err
