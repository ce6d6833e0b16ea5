"""Real Keras on a CPU, recorded with `stepscope.keras.Callback`, with TensorFlow and with JAX as its backend."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("keras")

from frameworks import run_script, steps_of, traces  # noqa: E402

from stepscope.keras import batches_to_record  # noqa: E402

# 10 batches per epoch.
TRAINING = """
import numpy as np
import keras
import stepscope.keras

x = np.random.default_rng(0).normal(size=(80, 4)).astype("float32")
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
callback = stepscope.keras.Callback({arguments})
for _ in range({fits}):
    history = model.fit(x, x.sum(axis=1), batch_size=8, epochs={epochs}, verbose=0, callbacks=[callback])
    assert len(history.history["loss"]) == {epochs}
print(callback.profiler.steps)
"""

backends = pytest.mark.parametrize("backend", ["tensorflow", "jax"])


def fit(folder: Path, arguments: str, backend: str, *, epochs: int = 1, fits: int = 1) -> list[str]:
    script = TRAINING.format(arguments=arguments, epochs=epochs, fits=fits)
    ended = run_script(folder, script, KERAS_BACKEND=backend)
    assert ended.code == 0, ended.err
    return [f"{ended.out.strip()} counted", *ended.notes]


def batches(first: int, last: int) -> list[str]:
    return [f"Profiled batch {number}" for number in range(first, last + 1)]


@backends
@pytest.mark.parametrize(
    ("spelling", "first", "last"),
    [("profile_batch=(2, 5)", 2, 5), ("profile_batch='2,5'", 2, 5), ("profile_batch=3", 3, 3)],
)
def test_steps_are_the_profiled_batches(spelling: str, first: int, last: int, backend: str, tmp_path: Path) -> None:
    counted, said = fit(tmp_path, f"{spelling}, logdir='logs'", backend)
    assert counted == f"{last - first + 1} counted"
    assert said.endswith("open with: stepscope open logs")
    (trace,) = traces(tmp_path / "logs")
    assert steps_of(trace) == batches(first, last)


@backends
def test_batches_are_counted_over_epochs(backend: str, tmp_path: Path) -> None:
    fit(tmp_path, "profile_batch=(8, 14), log_dir='logs'", backend, epochs=2)
    assert steps_of(traces(tmp_path / "logs")[0]) == batches(8, 14)


def test_each_fit_is_recorded(tmp_path: Path) -> None:
    fit(tmp_path, "profile_batch=(2, 3), logdir='logs'", "tensorflow", fits=2)
    assert [steps_of(trace) for trace in traces(tmp_path / "logs")] == [batches(2, 3)] * 2


def test_a_training_that_ends_early_leaves_what_it_did(tmp_path: Path) -> None:
    counted, said = fit(tmp_path, "profile_batch=(8, 99), logdir='logs'", "tensorflow")
    assert counted == "3 counted" and said.startswith("3 steps, ")
    assert steps_of(traces(tmp_path / "logs")[0]) == batches(8, 10)


@pytest.mark.parametrize("off", ["0", "(50, 60)"])
def test_no_batch_to_record(off: str, tmp_path: Path) -> None:
    assert fit(tmp_path, f"profile_batch={off}, logdir='logs'", "tensorflow") == ["0 counted"]
    assert not (tmp_path / "logs").exists()


@backends
def test_options_are_those_of_the_backend(backend: str, tmp_path: Path) -> None:
    options = {
        "tensorflow": "__import__('stepscope.tensorflow').tensorflow.ProfilerOptions(python_tracer_level=1)",
        "jax": "__import__('stepscope.jax').jax.ProfileOptions()",
    }[backend]
    fit(tmp_path, f"options={options}, logdir='logs', max_seconds=60, max_bytes='100MB'", backend)
    assert steps_of(traces(tmp_path / "logs")[0]) == batches(2, 5)
    # JAX's default has the Python tracer on.
    assert b"$" in traces(tmp_path / "logs")[0].read_bytes()


SLOW_WHILE_RECORDED = """
import time
from stepscope.tensorflow import recorder
class SlowWhileRecorded(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(0.001 if recorder.current is None else 0.1)
"""


def test_the_cost_is_reported(tmp_path: Path) -> None:
    """A known cost: each recorded batch sleeps for 0.1 s."""
    training = TRAINING.replace("import stepscope.keras\n", f"import stepscope.keras\n{SLOW_WHILE_RECORDED}")
    training = training.replace("[callback]", "[callback, SlowWhileRecorded()]")
    script = training.format(arguments="profile_batch=(20, 25), logdir='logs'", epochs=3, fits=1)
    ended = run_script(tmp_path, script, KERAS_BACKEND="tensorflow")
    assert ended.code == 0, ended.err
    cost = re.search(r"recording changed the time per step by \+(\d+)%", ended.notes[0])
    assert cost and int(cost[1]) > 100


def test_a_folder_that_cannot_be_written_leaves_the_training_alone(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    counted, said = fit(tmp_path, "profile_batch=(2, 5), logdir='logs'", "tensorflow")
    assert counted == "0 counted"
    assert said == "not recording: cannot write traces to logs: File exists; the program continues"


def test_batches_of_wrong_values_are_refused() -> None:
    for wrong in ("2;5", "", (5, 2), (1, 2, 3), "5,2", -1):
        with pytest.raises(ValueError, match="profile_batch: expected a batch such as 3"):
            batches_to_record(wrong)
    with pytest.raises(TypeError, match="profile_batch: expected"):
        batches_to_record(None)


def test_stepscope_run_names_the_trace_of_a_callback(tmp_path: Path) -> None:
    script = TRAINING.format(arguments="logdir='logs'", epochs=1, fits=1)
    ended = run_script(tmp_path, script, under_stepscope_run=True, KERAS_BACKEND="tensorflow")
    assert ended.code == 0, ended.err
    assert ended.notes[-1] == "the program recorded itself with TensorFlow; open with: stepscope open logs"
