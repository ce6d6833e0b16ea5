"""Times the rounds of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType

from stepscope.errors import UsageError

from .torch_trace import TorchTrace

__all__ = ["Measurement"]

_LOOP = "with stepscope.measure(…) as rounds: for _ in rounds: …"


class Measurement:
    """Measures one block. A context manager that yields itself; loop over it to run the block several times.

    Each round of the loop is one value. A block without a loop is one value.
    """

    def __init__(
        self,
        name: str,
        rounds: int,
        warmup: int,
        clock: Callable[[], float],
        trace: TorchTrace | None = None,
    ) -> None:
        """Creates a measurement.

        Args:
            name: Name of the measured block.
            rounds: Number of timed rounds of a loop.
            warmup: Number of rounds that run before them without being timed.
            clock: Returns seconds, as `time.perf_counter` does.
            trace: Records one more round after the timed ones; `None` records none.
        """
        self.name = name
        self.values_s: list[float] = []
        """Seconds per round, in order."""
        self.has_loop = False
        """Whether the block looped over the rounds."""
        self.trace = trace
        self._rounds = rounds
        self._warmup = warmup
        self._clock = clock
        self._begun_s: float | None = None

    def __enter__(self) -> Measurement:
        if self._begun_s is not None:
            raise UsageError(f"a block is measured once: {self.name}", None, _LOOP)
        self._begun_s = self._clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._begun_s is not None and not self.has_loop:
            self.values_s.append(self._clock() - self._begun_s)

    def __iter__(self) -> Iterator[int]:
        """Yields once per round: first the warmup, then the timed rounds, numbered from 0, then the traced one."""
        if self._begun_s is None or self.has_loop:
            found = "a second loop" if self.has_loop else "a loop outside of `with`"
            raise UsageError(f"expected one loop over the rounds, found {found}: {self.name}", None, _LOOP)
        self.has_loop = True
        return self._loop()

    def _loop(self) -> Iterator[int]:
        for index in range(self._warmup):
            yield index - self._warmup
        clock, values_s = self._clock, self.values_s
        for index in range(self._rounds):
            begun_s = clock()
            yield index
            values_s.append(clock() - begun_s)
        if self.trace is not None:
            with self.trace:
                yield self._rounds
