"""Real JAX on a CPU, recorded with `stepscope.jax`."""

from __future__ import annotations

from pathlib import Path

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from frameworks import run_script, steps_of, traces  # noqa: E402

import stepscope.jax  # noqa: E402
from stepscope.jax import ProfileOptions, StepTraceAnnotation, TraceAnnotation, profile, start, step, stop  # noqa: E402


@jax.jit
def update(value: jax.Array) -> jax.Array:
    return jnp.tanh(value @ value)


def work() -> None:
    update(jnp.ones((32, 32))).block_until_ready()


def notes(capsys: pytest.CaptureFixture[str]) -> list[str]:
    lines = capsys.readouterr().err.splitlines()
    return [line.removeprefix("stepscope: ") for line in lines if line.startswith("stepscope: ")]


def without_python() -> ProfileOptions:
    options = ProfileOptions()
    options.python_tracer_level = 0
    return options


def test_steps_are_those_of_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logdir = tmp_path / "logs"
    with profile(logdir, profiler_options=without_python()) as prof:
        for number in range(3, 8):
            with step(number), TraceAnnotation("inner"):
                work()
    assert prof.steps == 5
    (trace,) = traces(logdir)
    (said,) = notes(capsys)
    assert said.startswith("5 steps, ") and said.endswith(f"in {logdir}; open with: stepscope open {logdir}")
    assert steps_of(trace) == [f"train {number}" for number in range(3, 8)]


def test_the_names_of_jax(tmp_path: Path) -> None:
    stepscope.jax.start_trace(tmp_path, profiler_options=without_python())
    with StepTraceAnnotation("predict", step_num=2):
        work()
    stepscope.jax.stop_trace()
    with stepscope.jax.trace(tmp_path, create_perfetto_trace=True), step(3, name="evaluate"):
        work()
    first, second = traces(tmp_path)
    assert [steps_of(first), steps_of(second)] == [["predict 2"], ["evaluate 3"]]
    assert (second.parent / "perfetto_trace.json.gz").exists()


def test_a_second_start_closes_the_first_and_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    start(first, profiler_options=without_python())
    with step(1):
        work()
    start(second, profiler_options=without_python())
    with step(2):
        work()
    stop()
    stop()
    said = notes(capsys)
    assert said[0] == f"closing the trace in {first}: another one starts, and JAX records one at a time"
    assert said[3:] == ["stop() changes nothing: no profiler is recording; call stepscope.jax.start(logdir) first"]
    assert [steps_of(trace) for trace in traces(first) + traces(second)] == [["train 1"], ["train 2"]]


def test_traces_of_one_second_do_not_overwrite_each_other(tmp_path: Path) -> None:
    for number in range(4):
        with profile(tmp_path, profiler_options=without_python()), step(number):
            work()
    assert sorted(steps_of(trace)[0] for trace in traces(tmp_path)) == [f"train {number}" for number in range(4)]


def test_the_budget_of_steps(tmp_path: Path) -> None:
    with profile(tmp_path, max_steps=2, profiler_options=without_python()) as prof:
        for number in range(6):
            with step(number):
                work()
    assert prof.steps == 2
    assert steps_of(traces(tmp_path)[0]) == ["train 0", "train 1"]


def test_a_trace_that_cannot_be_written_does_not_block_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """JAX alone never starts another session after it failed to write one."""
    logdir = tmp_path / "logs"
    with profile(logdir):
        logdir.rmdir()
        logdir.touch()
    (said,) = notes(capsys)
    assert said.startswith(f"no trace was written to {logdir}: ") and said.endswith("; the program continues")
    with profile(tmp_path / "next"), step(1):
        work()
    assert steps_of(traces(tmp_path / "next")[0]) == ["train 1"]


def test_a_profiler_of_the_script_keeps_the_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with jax.profiler.trace(tmp_path / "own"), profile(tmp_path / "ours"):
        work()
    (said,) = notes(capsys)
    assert said.startswith("not recording: JAX's profiler did not start: Profile has already been started")
    assert len(traces(tmp_path / "own")) == 1 and traces(tmp_path / "ours") == []


def test_the_exit_of_the_program_finishes_the_trace(tmp_path: Path) -> None:
    script = (
        "import jax, stepscope.jax as sj\nsj.start('logs')\n"
        "with sj.step(4):\n    jax.numpy.ones(3).sum().block_until_ready()\n"
    )
    ended = run_script(tmp_path, script)
    assert ended.code == 0 and ended.notes[0].startswith("1 step, "), ended.err
    assert steps_of(traces(tmp_path / "logs")[0]) == ["train 4"]


@pytest.mark.parametrize("module", ["jax.profiler", "stepscope.jax"])
def test_stepscope_run_names_the_traces_of_the_script(module: str, tmp_path: Path) -> None:
    script = f"import jax, stepscope.jax\nwith {module}.trace('logs'):\n    jax.numpy.ones(3).sum()\n"
    ended = run_script(tmp_path, script, under_stepscope_run=True)
    assert ended.code == 0, ended.err
    assert ended.notes[-1] == "the program recorded itself with JAX; open with: stepscope open logs"


def test_without_jax_the_error_names_it(tmp_path: Path) -> None:
    script = "import sys; sys.modules['jax'] = None\nimport stepscope.jax\nstepscope.jax.start('logs')\n"
    ended = run_script(tmp_path, script)
    assert ended.code == 1
    assert "stepscope.jax needs JAX\nhint: pip install jax" in ended.err
