"""What `stepscope.torch` writes: traces, stacks, and the line that says so."""

from __future__ import annotations

import gzip
import inspect
import json
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.profiler  # noqa: E402
from torch_loops import mlp_step  # noqa: E402

import stepscope  # noqa: E402
import stepscope.torch as ss_torch  # noqa: E402
from stepscope.torch import CaptureWarning, ProfilerActivity, profile, schedule, trace_handler  # noqa: E402
from stepscope.torch.stacks import write_stacks  # noqa: E402

pytestmark = pytest.mark.measures_time

CPU = [ProfilerActivity.CPU]


def read_trace(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def test_a_trace_can_be_written_again_and_compressed(tmp_path: Path) -> None:
    with profile(activities=CPU, on_trace_ready=trace_handler(str(tmp_path / "runs"))) as prof:
        mlp_step()()
    (by_handler,) = (tmp_path / "runs").iterdir()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    first = read_trace(by_handler)
    assert any(event["name"] == "aten::linear" for event in first["traceEvents"])
    assert read_trace(tmp_path / "trace.json") == first
    assert read_trace(tmp_path / "trace.json.gz") == first
    by_handler.unlink()
    with pytest.raises(FileNotFoundError, match=r"torch writes a trace only once.*\.pt\.trace\.json"):
        prof.export_chrome_trace(str(tmp_path / "third.json"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "trace.json", "trace.json.gz"]


@pytest.mark.parametrize("use_gzip", [False, True])
@pytest.mark.parametrize("profile_class", [profile, torch.profiler.profile])
def test_handler_names_files_as_torch_does(profile_class: Any, use_gzip: bool, tmp_path: Path) -> None:
    def names(handler: Any, folder: Path) -> list[str]:
        with profile_class(activities=CPU, on_trace_ready=handler):
            mlp_step()()
        return [re.sub(r"\d{15,}", "TIME", path.name) for path in folder.iterdir()]

    ours, theirs = tmp_path / "a" / "ours", tmp_path / "theirs"
    found = names(trace_handler(str(ours), use_gzip=use_gzip), ours)
    torch_handler = torch.profiler.tensorboard_trace_handler(str(theirs), use_gzip=use_gzip)
    assert found == names(torch_handler, theirs)
    assert re.fullmatch(r".+_\d+\.TIME\.pt\.trace\.json(\.gz)?", found[0])
    assert read_trace(next(ours.iterdir()))["traceEvents"]
    named = names(trace_handler(str(tmp_path / "named"), "rank3", use_gzip), tmp_path / "named")
    assert named[0].startswith("rank3.TIME.")


def test_a_trace_is_in_the_cache_at_once_if_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, runs = tmp_path / "cache", tmp_path / "runs"
    monkeypatch.setenv("STEPSCOPE_CACHE", str(cache))
    for ingest in (False, True):
        with profile(activities=CPU, on_trace_ready=trace_handler(str(runs / str(ingest)), ingest=ingest)):
            mlp_step()()
        assert cache.exists() is ingest
    before = sorted(cache.rglob("*.parquet"))
    assert len(stepscope.open(runs / "True").steps()) == 1
    assert sorted(cache.rglob("*.parquet")) == before != []


def test_a_failed_ingest_is_said_and_harms_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> None:
        raise stepscope.errors.TraceError("not a trace", None, None)

    monkeypatch.setattr("stepscope.opening.open", fail)
    with profile(activities=CPU, on_trace_ready=trace_handler(str(tmp_path), ingest=True)) as prof:
        mlp_step()()
    assert prof.key_averages()
    assert len(list(tmp_path.glob("*.pt.trace.json"))) == 1
    assert f"the trace was written but could not be ingested: {tmp_path}: not a trace" in capsys.readouterr().err


def test_nobody_sees_half_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def break_off(_: Any, path: str, *args: Any, **options: Any) -> None:
        Path(path).write_text("{")
        assert not list(tmp_path.glob("*.json*")), "visible before it is whole"
        raise OSError("disk full")

    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", break_off)
    for profile_class in (profile, torch.profiler.profile):
        with profile_class(activities=CPU, on_trace_ready=trace_handler(str(tmp_path))):
            pass
        assert f"no trace was written to {tmp_path}: OSError: disk full; the program" in capsys.readouterr().err
    with pytest.raises(OSError, match="disk full"):
        with profile(activities=CPU, on_trace_ready=lambda prof: prof.export_chrome_trace(str(tmp_path / "own.json"))):
            pass
    assert list(tmp_path.iterdir()) == []


def busy(milliseconds: int) -> float:
    """Works for so long or, on a busy machine, longer; returns how long in microseconds."""
    begun = time.perf_counter()
    while time.perf_counter() < begun + milliseconds / 1000:
        torch.ones(1_000_000).sum()
    return 1e6 * (time.perf_counter() - begun)


def outer() -> tuple[float, float]:
    return busy(30), inner()


def inner() -> float:
    return busy(60)


def test_stacks_are_folded_and_add_up(tmp_path: Path) -> None:
    with profile(activities=CPU, with_stack=True) as prof:
        outer_us, inner_us = outer()
    prof.export_stacks(str(tmp_path / "stacks.txt"))
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert len(lines) > 5
    assert all(re.fullmatch(r"[^;]+(;[^;]+)* [1-9]\d*", line) for line in lines)
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines)

    def total_us(pattern: str) -> int:
        return sum(int(line.rpartition(" ")[2]) for line in lines if re.search(pattern, line))

    assert total_us(r"\): outer;.*\): inner;.*\): busy") == pytest.approx(inner_us, rel=0.1)
    assert total_us(r"\): outer;[^;]*\): busy") == pytest.approx(outer_us, rel=0.1)
    assert 0 < total_us(r"\): busy;.*aten::sum") < total_us(r"\): busy")
    assert total_us(r"\): inner;.*\): outer") == 0


def test_stacks_of_a_device_that_was_not_there_say_so(tmp_path: Path) -> None:
    with profile(activities=CPU, with_stack=True) as prof:
        outer()
    with pytest.warns(CaptureWarning, match="nothing ran on a device, so .* holds CPU time"):
        prof.export_stacks(str(tmp_path / "stacks.txt"), "self_cuda_time_total")
    assert "inner" in (tmp_path / "stacks.txt").read_text()
    with pytest.raises(ValueError, match="metric: expected one of self_cpu_time_total"):
        prof.export_stacks(str(tmp_path / "stacks.txt"), "cpu")


def test_stacks_hold_the_time_of_the_chosen_metric(tmp_path: Path) -> None:
    def span(name: str, parent: Any, cpu_us: float, device_us: float, place: str = "CPU") -> Any:
        times = {"self_cpu_time_total": cpu_us, "self_device_time_total": device_us}
        return SimpleNamespace(
            name=name, cpu_parent=parent, device_type=SimpleNamespace(name=place), is_async=False, **times
        )

    main = span("main.py(1): main", None, 10, 0)
    step = span("main.py(5): step; twice", main, 0, 0)
    call = span("<built-in method mm of Tensor object at 0x7f00ab>", step, 2.4, 0)
    same_call = span("<built-in method mm of Tensor object at 0x7f00cd>", step, 2.4, 0)
    op = span("aten::mm", same_call, 3, 40)
    kernel = span("gemm", None, 0, 40, place="CUDA")

    def check(metric: str, *lines: str) -> None:
        write_stacks([op, kernel, call, same_call, step, main], tmp_path / "stacks.txt", metric)
        assert (tmp_path / "stacks.txt").read_text().splitlines() == list(lines)

    outer = "main.py(1): main;main.py(5): step: twice;<built-in method mm of Tensor object>"
    check("self_cpu_time_total", "main.py(1): main 10", f"{outer} 5", f"{outer};aten::mm 3")
    check("self_cuda_time_total", f"{outer};aten::mm 40")
    check("self_device_time_total", f"{outer};aten::mm 40")


def test_stacks_need_to_be_recorded(tmp_path: Path) -> None:
    with profile(activities=CPU) as prof:
        outer()
    with pytest.raises(ValueError, match="pass with_stack=True"):
        prof.export_stacks(str(tmp_path / "stacks.txt"))


def test_one_line_says_what_was_captured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    step = mlp_step()

    def said(handler: Any) -> list[str]:
        plan = schedule(wait=0, warmup=1, active=3, repeat=1)
        with profile(activities=CPU, schedule=plan, on_trace_ready=handler) as prof:
            for _ in range(4):
                step()
                prof.step()
        return [line for line in capsys.readouterr().err.splitlines() if line.startswith("stepscope:")]

    (line,) = said(trace_handler("runs/profiler"))
    assert re.fullmatch(r"stepscope: 3 steps, \d+\.\d kB in (\S+); open with: stepscope open \1", line)
    assert line.endswith(" runs/profiler")
    (line,) = said(lambda prof: prof.export_chrome_trace("my trace.json"))
    assert line.endswith("open with: stepscope open 'my trace.json'")
    assert said(None) == []
    monkeypatch.setenv("STEPSCOPE_QUIET", "1")
    assert said(trace_handler("runs/profiler")) == []


def test_everything_of_torch_profiler_is_there() -> None:
    for name in torch.profiler.__all__:
        assert getattr(ss_torch, name) is not None
    assert ss_torch.tensorboard_trace_handler is ss_torch.trace_handler
    assert ss_torch.schedule is torch.profiler.schedule
    assert ss_torch.record_function is torch.profiler.record_function
    assert issubclass(profile, torch.profiler.profile)
    with pytest.raises(TypeError, match="no_such_argument"):
        profile(no_such_argument=1)
    for ours, theirs in [(profile, torch.profiler.profile), (trace_handler, torch.profiler.tensorboard_trace_handler)]:
        missing = inspect.signature(theirs).parameters.keys() - inspect.signature(ours).parameters.keys()
        assert not missing, f"arguments of torch {torch.__version__} that ours does not take"


def test_start_and_stop_by_hand() -> None:
    prof = profile(activities=CPU)
    for _ in range(2):
        prof.start()
        mlp_step()()
        prof.stop()
        assert next(row.count for row in prof.key_averages() if row.key == "aten::linear") == 2


def test_steps_after_the_end_are_harmless() -> None:
    with profile(activities=CPU, max_bytes=1) as prof:
        mlp_step()()
    prof.step()
    prof.step()
    assert next(row.count for row in prof.key_averages() if row.key == "aten::linear") == 2
