"""Where steps and epochs end: real optimizers and data loaders, with a listener instead of a profiler."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.data import DataLoader

from stepscope.running.counting import Counter

torch.set_num_threads(1)


class Heard:
    """A counter with what it told."""

    def __init__(self, unit: str) -> None:
        self.found = 0
        self.samples: list[int | None] = []
        self.counter = Counter(unit, self._count_found, self._count_ended)

    def _count_found(self) -> None:
        self.found += 1

    def _count_ended(self, samples: int | None) -> None:
        self.samples.append(samples)

    @property
    def ended(self) -> int:
        return len(self.samples)


@pytest.fixture
def steps() -> Iterator[Heard]:
    yield from _attached("steps")


@pytest.fixture
def epochs() -> Iterator[Heard]:
    yield from _attached("epochs")


def _attached(unit: str) -> Iterator[Heard]:
    heard = Heard(unit)
    heard.counter.attach()
    try:
        yield heard
    finally:
        heard.counter.detach(is_complete=False)


def optimizer() -> torch.optim.Optimizer:
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    return torch.optim.SGD([parameter], lr=0.1)


def loader(batches: int = 3, **workers: Any) -> DataLoader[int]:
    return DataLoader(range(batches), batch_size=None, **workers)  # type: ignore[arg-type]


def test_the_first_optimizer_defines_the_step(steps: Heard) -> None:
    generator, critic = optimizer(), optimizer()
    for _ in range(3):
        generator.step()
        critic.step()
        critic.step()
    assert (steps.found, steps.ended) == (1, 3)


def test_a_step_ends_behind_the_span_of_the_optimizer(steps: Heard) -> None:
    sgd = optimizer()
    sgd.step()
    ended_inside: list[int] = []
    # torch calls it after the counter's own hook, but inside the span.
    last = register_optimizer_step_post_hook(lambda *_: ended_inside.append(steps.ended))
    sgd.step()
    sgd.step()
    last.remove()
    assert (ended_inside, steps.ended) == ([1, 2], 3)


@pytest.mark.parametrize("scheduler_first", [True, False])
def test_learning_rate_schedulers_keep_working(
    scheduler_first: bool, steps: Heard, recwarn: pytest.WarningsRecorder
) -> None:
    sgd = optimizer()
    if not scheduler_first:
        sgd.step()
    scheduler = torch.optim.lr_scheduler.ExponentialLR(sgd, 0.5)
    for _ in range(4):
        sgd.step()
        scheduler.step()
    assert steps.ended == (4 if scheduler_first else 5)
    assert sgd.param_groups[0]["lr"] == pytest.approx(0.1 / 16)
    assert not recwarn.list


def test_steps_are_counted_where_somebody_replaces_the_method(steps: Heard) -> None:
    sgd = optimizer()
    original = sgd.step
    for _ in range(3):
        sgd.step = original  # type: ignore[method-assign]
        sgd.step()
    steps.counter.detach(is_complete=True)
    assert steps.ended == 3


@pytest.mark.parametrize("optimizer_first", [True, False])
def test_calls_of_step_win_over_the_optimizer(optimizer_first: bool, steps: Heard) -> None:
    sgd = optimizer()
    for _ in range(3):
        if optimizer_first:
            sgd.step()
        steps.counter.step_called()
        if not optimizer_first:
            sgd.step()
    assert steps.ended == 3


@pytest.mark.parametrize("optimizer_first", [True, False])
def test_a_step_has_the_samples_of_its_call(optimizer_first: bool, steps: Heard) -> None:
    sgd = optimizer()
    for samples in (8, 16, None, 4):
        if optimizer_first:
            sgd.step()
        steps.counter.step_called(samples)
    # The optimizer has ended the first step before its samples were told.
    assert steps.samples == [None if optimizer_first else 8, 16, None, 4]


def test_an_epoch_has_the_samples_of_its_steps_if_all_are_known(epochs: Heard) -> None:
    for told in [(8, 16, 4), (8, None, 4), (0, 0, 1)]:
        for samples, _batch in zip(told, loader()):
            epochs.counter.step_called(samples)
    list(loader())
    assert epochs.samples == [28, None, 1]


def test_an_epoch_is_one_exhaustion_of_the_outermost_loader(epochs: Heard) -> None:
    outer, inner = loader(), loader(2)
    for _ in range(4):
        for _batch in outer:
            assert list(inner) == [0, 1]
    assert (epochs.found, epochs.ended) == (1, 4)


def test_a_loader_of_its_own_for_each_epoch_counts(epochs: Heard) -> None:
    assert [list(loader()) for _ in range(3)] == [[0, 1, 2]] * 3
    assert epochs.ended == 3


def test_a_break_ends_the_epoch_when_the_next_one_begins(epochs: Heard) -> None:
    ended = []
    batches = loader()
    for _ in range(3):
        for _batch in batches:
            ended.append(epochs.ended)
            break
    assert ended == [0, 1, 2]
    epochs.counter.detach(is_complete=True)
    assert epochs.ended == 3


def test_an_iterator_kept_in_a_variable_counts_when_it_is_made_anew(epochs: Heard) -> None:
    batches = loader()
    iterator = iter(batches)
    next(iterator)
    iterator = iter(batches)
    assert (epochs.ended, list(iterator)) == (1, [0, 1, 2])
    assert epochs.ended == 2


def test_workers_that_persist_count_and_their_forks_do_not(epochs: Heard) -> None:
    batches = loader(2, num_workers=1, persistent_workers=True, multiprocessing_context="fork")
    for _ in range(3):
        assert list(batches) == [0, 1]
    assert epochs.ended == 3


def test_a_pass_without_a_step_is_a_validation_once_the_script_trains(epochs: Heard) -> None:
    sgd, training, validation = optimizer(), loader(), loader(2)
    for _ in range(3):
        for _batch in training:
            sgd.step()
        list(validation)
    assert epochs.ended == 3


def test_other_threads_do_not_count(steps: Heard) -> None:
    def train() -> None:
        optimizer().step()
        list(loader())
        steps.counter.step_called()

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert (steps.found, steps.ended) == (0, 0)


def test_nothing_is_heard_or_left_behind_after_detaching() -> None:
    original = DataLoader.__iter__
    heard = Heard("epochs")
    heard.counter.attach()
    assert DataLoader.__iter__ is not original
    heard.counter.detach(is_complete=True)
    assert DataLoader.__iter__ is original
    list(loader())
    optimizer().step()
    assert (heard.found, heard.ended) == (0, 0)
