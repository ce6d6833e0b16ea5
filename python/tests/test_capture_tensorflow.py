"""Real TensorFlow on a CPU, recorded with `stepscope.tensorflow`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tf = pytest.importorskip("tensorflow")

from frameworks import CORPUS, needs_corpus, run_script, steps_of, traces  # noqa: E402

import stepscope.tensorflow  # noqa: E402
from stepscope.tensorflow import Profile, ProfilerOptions, Trace, profile, start, step, stop  # noqa: E402


def work() -> None:
    matrix = tf.ones((64, 64))
    tf.matmul(matrix, matrix).numpy()


def notes(capsys: pytest.CaptureFixture[str]) -> list[str]:
    lines = capsys.readouterr().err.splitlines()
    return [line.removeprefix("stepscope: ") for line in lines if line.startswith("stepscope: ")]


def test_steps_are_those_of_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logdir = tmp_path / "logs"
    with profile(logdir, options=ProfilerOptions(host_tracer_level=2)) as prof:
        for number in range(3, 8):
            with Trace("train", step_num=number, _r=1) as trace:
                work()
                trace.set_metadata(loss=1.5)
    assert prof.steps == 5
    (trace_file,) = traces(logdir)
    (said,) = notes(capsys)
    assert said.startswith("5 steps, ") and said.endswith(f"in {logdir}; open with: stepscope open {logdir}")
    assert steps_of(trace_file) == [f"train {number}" for number in range(3, 8)]


def test_a_step_inside_a_step_is_a_part_of_it(tmp_path: Path) -> None:
    with profile(tmp_path) as prof:
        for number in range(3):
            with step(number), Trace("evaluate", step_num=number), Trace("no step"):
                work()
    assert prof.steps == 3
    assert steps_of(traces(tmp_path)[0]) == ["train 0", "train 1", "train 2"]


def test_a_second_start_closes_the_first_and_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    start(str(first))
    with step(1):
        work()
    start(str(second))
    with step(2):
        work()
    stop()
    stop()
    said = notes(capsys)
    assert said[0] == f"closing the trace in {first}: another one starts, and TensorFlow records one at a time"
    assert said[1].startswith("1 step, ") and str(first) in said[1]
    assert said[2].startswith("1 step, ") and str(second) in said[2]
    assert said[3:] == [
        "stop() changes nothing: no profiler is recording; call stepscope.tensorflow.start(logdir) first"
    ]
    assert [steps_of(trace) for trace in traces(first) + traces(second)] == [["train 1"], ["train 2"]]


def test_a_block_that_was_closed_leaves_the_next_one_alone(tmp_path: Path) -> None:
    with profile(tmp_path / "first"):
        start(tmp_path / "second")
    with step(7):
        work()
    stop()
    assert len(traces(tmp_path / "first")) == 1
    assert steps_of(traces(tmp_path / "second")[0]) == ["train 7"]


def test_traces_of_one_second_do_not_overwrite_each_other(tmp_path: Path) -> None:
    """TensorFlow alone keeps the last one: it names the folder after the second."""
    for number in range(4):
        with Profile(tmp_path), step(number):
            work()
    assert sorted(steps_of(trace)[0] for trace in traces(tmp_path)) == [f"train {number}" for number in range(4)]


def test_a_trace_that_is_not_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start(tmp_path)
    work()
    stop(save=False)
    assert traces(tmp_path) == [] and notes(capsys) == []


def test_the_budget_of_steps(tmp_path: Path) -> None:
    with profile(tmp_path, max_steps=2) as prof:
        for number in range(6):
            with step(number):
                work()
    assert prof.steps == 2
    assert steps_of(traces(tmp_path)[0]) == ["train 0", "train 1"]


@pytest.mark.parametrize(
    ("budget", "said"),
    [({"max_seconds": 0.3}, "max_seconds (0.3) is over"), ({"max_bytes": "1kB"}, "may have reached max_bytes (1.0 kB)")],
)
def test_the_budgets_of_time_and_size(
    budget: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start(tmp_path, **budget)
    kept, until_s, number = [], time.monotonic() + 30, 0
    while stepscope.tensorflow.recorder.current is not None and time.monotonic() < until_s:
        with step(number):
            kept.append(tf.ones((64, 64)))
            work()
        number += 1
    stop()
    first, second = notes(capsys)
    assert first.startswith("stopped recording after ") and said in first and first.endswith("continues unrecorded")
    assert "open with: stepscope open" in second
    assert len(traces(tmp_path)) == 1


def test_wrong_budgets_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="max_steps: expected a whole number, 1 or more, found 0"):
        profile("logs", max_steps=0)
    with pytest.raises(ValueError, match="max_seconds: expected a number greater than 0"):
        profile("logs", max_seconds=-1)


def test_overhead_compares_recorded_with_unrecorded_steps(tmp_path: Path) -> None:
    stepscope.tensorflow.recorder.step_times = type(stepscope.tensorflow.recorder.step_times)()
    for number in range(6):
        with step(number):
            time.sleep(0.002)
    with profile(tmp_path) as prof:
        for number in range(6):
            with step(number):
                time.sleep(0.01)
    assert prof.overhead is not None and prof.overhead > 1


def test_a_folder_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    with profile(blocked / "logs") as prof, step(1):
        work()
    assert prof.steps == 0
    (said,) = notes(capsys)
    assert said == f"not recording: cannot write traces to {blocked}/logs: Not a directory; the program continues"


def test_a_folder_that_goes_away_costs_the_trace_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logdir = tmp_path / "logs"
    with profile(logdir):
        logdir.rmdir()
        logdir.touch()
    (said,) = notes(capsys)
    assert said.startswith(f"no trace was written to {logdir}: ") and said.endswith("; the program continues")
    with profile(tmp_path / "next"):
        work()
    assert len(traces(tmp_path / "next")) == 1


def test_a_profiler_of_the_script_keeps_the_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tf.profiler.experimental.start(str(tmp_path / "own"))
    with profile(tmp_path / "ours"):
        work()
    tf.profiler.experimental.stop()
    (said,) = notes(capsys)
    assert said == "not recording: TensorFlow's profiler did not start: Another profiler is running; the program continues"
    assert len(traces(tmp_path / "own")) == 1 and traces(tmp_path / "ours") == []


def test_other_names_are_those_of_tensorflow() -> None:
    assert ProfilerOptions is tf.profiler.experimental.ProfilerOptions
    assert stepscope.tensorflow.server is tf.profiler.experimental.server
    with pytest.raises(AttributeError, match="no attribute 'begin'"):
        stepscope.tensorflow.begin


def test_an_exception_leaves_the_trace(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), profile(tmp_path), step(1):
        1 / 0
    assert steps_of(traces(tmp_path)[0]) == ["train 1"]


TRAINING = """
import sys, time
import tensorflow as tf
import stepscope.tensorflow as st

st.start("logs")
for number in range(3):
    with st.step(number):
        tf.matmul(tf.ones((8, 8)), tf.ones((8, 8))).numpy()
print("recorded", flush=True)
"""


def test_the_exit_of_the_program_finishes_the_trace(tmp_path: Path) -> None:
    ended = run_script(tmp_path, TRAINING)
    assert ended.code == 0, ended.err
    assert ended.notes[0].startswith("3 steps, ") and len(ended.notes) == 1
    assert steps_of(traces(tmp_path / "logs")[0]) == ["train 0", "train 1", "train 2"]


def test_a_signal_finishes_the_trace(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(TRAINING + "while True: time.sleep(0.01)\n")
    child = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "recorded\n"
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGTERM
    assert "stepscope: 3 steps, " in err
    assert len(traces(tmp_path / "logs")) == 1


@pytest.mark.parametrize("module", ["stepscope.tensorflow", "tf.profiler.experimental"])
def test_stepscope_run_names_the_traces_of_the_script(module: str, tmp_path: Path) -> None:
    script = f"import tensorflow as tf, stepscope.tensorflow\nwith {module}.Profile('logs'):\n    tf.add(1, 2)\n"
    ended = run_script(tmp_path, script, under_stepscope_run=True)
    assert ended.code == 0, ended.err
    assert ended.notes[-1] == "the program recorded itself with TensorFlow; open with: stepscope open logs"
    assert len(traces(tmp_path / "logs")) == 1


def test_stepscope_run_ends_what_the_script_left_open(tmp_path: Path) -> None:
    ended = run_script(tmp_path, TRAINING, under_stepscope_run=True)
    assert ended.notes[0].startswith("3 steps, ")
    assert ended.notes[1:] == ["the program recorded itself with TensorFlow; open with: stepscope open logs"]


def test_stepscope_run_says_what_to_call(tmp_path: Path) -> None:
    ended = run_script(tmp_path, "import tensorflow\n", under_stepscope_run=True)
    advice = "pass stepscope.keras.Callback() to fit(), or use stepscope.tensorflow.profile(logdir)"
    assert ended.notes == [f"nothing recorded: the program uses TensorFlow and starts no profiler; {advice}"]


def test_without_tensorflow_the_error_names_it(tmp_path: Path) -> None:
    script = "import sys; sys.modules['tensorflow'] = None\nimport stepscope.tensorflow as st\nst.start('logs')\n"
    ended = run_script(tmp_path, script)
    assert ended.code == 1
    assert "stepscope.tensorflow needs TensorFlow\nhint: pip install tensorflow" in ended.err


def blocks() -> list[str]:
    """The Python blocks of the guide's section about TensorFlow."""
    if CORPUS is None:
        return []
    guide = next((Path(CORPUS) / "seeds").glob("000_*.txt")).read_text(encoding="utf-8")
    section = guide.split("\n## TensorFlow Profiler\n")[1].split("\n## ")[0]
    return [part.split("\n```")[0] for part in section.split("```python\n")[1:]]


PREAMBLE = """
import numpy as np
import tensorflow as tf
import stepscope.keras, stepscope.tensorflow

generator = np.random.default_rng(0)
x_train = generator.normal(size=(32 * 25, 8)).astype("float32")
y_train = x_train.sum(axis=1)
model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
loss_fn = tf.keras.losses.MeanSquaredError()
optimizer = tf.keras.optimizers.SGD(0.01)
train_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(32)

def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


@needs_corpus
def test_the_guide_has_three_blocks() -> None:
    assert len(blocks()) == 3


def run_block(number: int, folder: Path) -> list[str]:
    block = blocks()[number]
    for theirs, ours in (
        ("tf.keras.callbacks.TensorBoard", "stepscope.keras.Callback"),
        ("tf.profiler.experimental", "stepscope.tensorflow"),
    ):
        block = block.replace(theirs, ours)
    assert "stepscope." in block and "profiler.experimental" not in block
    ended = run_script(folder, PREAMBLE + block)
    assert ended.code == 0, ended.err
    return ended.notes


@needs_corpus
def test_the_first_block_of_the_guide_profiles_with_a_callback(tmp_path: Path) -> None:
    (said,) = run_block(0, tmp_path)
    assert said.startswith("11 steps, ") and said.endswith("open with: stepscope open logs/profiler")
    (trace,) = traces(tmp_path / "logs" / "profiler")
    assert steps_of(trace) == [f"Profiled batch {number}" for number in range(10, 21)]


@needs_corpus
def test_the_second_block_starts_a_profiler_while_one_is_running(tmp_path: Path) -> None:
    said = run_block(1, tmp_path)
    assert len(said) == 4
    assert said[0].startswith("closing the trace in logs/profiler: another one starts")
    assert said[1].endswith("in logs/profiler; open with: stepscope open logs/profiler")
    assert said[2].endswith("in logs/profiler_step10; open with: stepscope open logs/profiler_step10")
    assert said[3].startswith("stop() changes nothing")
    sizes = [traces(tmp_path / "logs" / name)[0].stat().st_size for name in ("profiler", "profiler_step10")]
    # 61 steps in the first, 10 in the second.
    assert sizes[0] > 3 * sizes[1] > 3000


@needs_corpus
def test_the_third_block_profiles_a_loop_in_a_context(tmp_path: Path) -> None:
    (said,) = run_block(2, tmp_path)
    assert said.endswith("in logs/profiler; open with: stepscope open logs/profiler")
    assert traces(tmp_path / "logs" / "profiler")[0].stat().st_size > 1000
