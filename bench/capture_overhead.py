"""Compares the time per step with and without recording, for TensorFlow, Keras and JAX on a CPU.

python bench/capture_overhead.py [ROUNDS]: needs Stepscope and python/requirements-frameworks.txt. Each round runs some
steps unrecorded, with the framework's own profiler and with Stepscope's, in an order drawn by lot. So all three have
the same neighbors on a busy machine.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["STEPSCOPE_QUIET"] = "1"

import jax
import jax.numpy as jnp
import keras
import numpy as np
import tensorflow as tf

import stepscope.jax
import stepscope.keras
import stepscope.tensorflow

STEPS = 40
SIZE = 256
KINDS = ("unrecorded", "own profiler", "stepscope")

Recorder = Callable[[str], AbstractContextManager[Any]]


def timed(step: Callable[[int], None]) -> list[float]:
    durations_s = []
    for number in range(STEPS):
        begun_s = time.perf_counter()
        step(number)
        durations_s.append(time.perf_counter() - begun_s)
    return durations_s


def tensorflow_steps(kind: str, folder: str) -> list[float]:
    inputs = tf.ones((SIZE, SIZE))
    weights = tf.Variable(tf.random.normal((SIZE, SIZE), stddev=0.01))

    @tf.function
    def train() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(tf.matmul(inputs, weights)) ** 2)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    own = tf.profiler.experimental
    marks = {
        "own profiler": lambda number: own.Trace("train", step_num=number, _r=1),
        "stepscope": stepscope.tensorflow.step,
    }
    mark = marks.get(kind, lambda number: nullcontext())
    recorders: dict[str, Recorder] = {"own profiler": own.Profile, "stepscope": stepscope.tensorflow.profile}

    def step(number: int) -> None:
        with mark(number):
            train().numpy()

    timed(step)
    with recorders.get(kind, nullcontext)(folder):
        return timed(step)


def jax_steps(kind: str, folder: str) -> list[float]:
    inputs = jnp.ones((SIZE, SIZE))

    @jax.jit
    def train(weights: jax.Array) -> jax.Array:
        loss = jax.grad(lambda w: jnp.mean(jnp.tanh(inputs @ w) ** 2))
        return weights - 0.01 * loss(weights)

    weights = jax.random.normal(jax.random.key(0), (SIZE, SIZE))
    own = jax.profiler
    marks = {
        "own profiler": lambda number: own.StepTraceAnnotation("train", step_num=number),
        "stepscope": stepscope.jax.step,
    }
    mark = marks.get(kind, lambda number: nullcontext())
    recorders: dict[str, Recorder] = {"own profiler": own.trace, "stepscope": stepscope.jax.profile}

    def step(number: int) -> None:
        nonlocal weights
        with mark(number):
            weights = train(weights).block_until_ready()

    timed(step)
    with recorders.get(kind, nullcontext)(folder):
        return timed(step)


class Clock(keras.callbacks.Callback):
    """Notes how long each batch takes, callbacks included."""

    def __init__(self) -> None:
        super().__init__()
        self.durations_s: list[float] = []

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._begun_s = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.durations_s.append(time.perf_counter() - self._begun_s)


class OwnProfiler(keras.callbacks.Callback):
    """Profiles as the TensorBoard callback does, which would need the package of TensorBoard."""

    def __init__(self, batches: tuple[int, int], folder: str) -> None:
        super().__init__()
        self._batches = batches
        self._folder = folder

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch + 1 == self._batches[0]:
            tf.profiler.experimental.start(self._folder)
        self._mark = tf.profiler.experimental.Trace("Profiled batch", step_num=batch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._mark.__exit__(None, None, None)
        if batch + 1 == self._batches[1]:
            tf.profiler.experimental.stop()


def keras_steps(kind: str, folder: str) -> list[float]:
    rows = np.ones((64 * 2 * STEPS, SIZE), dtype="float32")
    model = keras.Sequential([keras.layers.Input((SIZE,)), keras.layers.Dense(SIZE, "relu"), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    # The second half; the last batch stays out, as its end also writes the trace.
    batches = (STEPS + 1, 2 * STEPS)
    clock = Clock()
    callbacks = {
        "unrecorded": [],
        "own profiler": [OwnProfiler(batches, folder)],
        "stepscope": [stepscope.keras.Callback(batches, folder)],
    }[kind]
    model.fit(rows, rows[:, 0], batch_size=64, verbose=0, shuffle=False, callbacks=[*callbacks, clock])
    return clock.durations_s[STEPS:-1]


def main(rounds: int) -> None:
    programs = {"TensorFlow": tensorflow_steps, "Keras": keras_steps, "JAX": jax_steps}
    for name, steps in programs.items():
        durations_s: dict[str, list[float]] = {kind: [] for kind in KINDS}
        lot = random.Random(0)
        for _ in range(rounds):
            for kind in lot.sample(KINDS, len(KINDS)):
                with tempfile.TemporaryDirectory() as folder:
                    durations_s[kind].append(statistics.median(steps(kind, folder)))
        base_s = statistics.median(durations_s["unrecorded"])
        for kind in KINDS:
            median_s = statistics.median(durations_s[kind])
            low, _, high = statistics.quantiles(durations_s[kind], n=4)
            spread = f"{1000 * low:.3f} to {1000 * high:.3f}"
            print(f"{name:10} {kind:12} {1000 * median_s:7.3f} ms per step ({spread})  ratio {median_s / base_s:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
