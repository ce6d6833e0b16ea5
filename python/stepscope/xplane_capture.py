"""Records traces with the profilers of TensorFlow and JAX: one session at a time, within a capture budget.

Both write a folder `plugins/profile/<run>` with one `<host>.xplane.pb` per host. They name it after the second, so that
two traces of one second would overwrite each other. Here each is written aside, and then moved to a name that is free.
Whatever fails is printed, and the program continues.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.captured import describe_capture, number_of_steps, readable_size
from stepscope.saying import say
from stepscope.step_times import StepTimes
from stepscope.termination import before_end, postponed
from stepscope.values import number, optional, size_in_bytes, whole_number
from stepscope.watching import Watch

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["DEFAULT_MAX_BYTES", "Budget", "CaptureBlock", "FrameworkProfiler", "MarkedStep", "Recorder"]

DEFAULT_MAX_BYTES = 200_000_000

# Measured with TensorFlow 2.21 and JAX 0.10.2: events take five times as much memory as in the file.
_TRACE_BYTES_PER_BYTE_OF_MEMORY = 0.2


@dataclass(frozen=True)
class FrameworkProfiler:
    """The profiler of a framework, of which a process has one session."""

    #: Name of the framework in messages.
    name: str
    #: The module of Stepscope that records with it.
    module: str
    #: Starts a session that will write to a folder.
    start: Callable[[str, Any], None]
    #: Ends the session and writes the trace.
    stop: Callable[[], None]
    #: Frees a session that could not write its trace.
    release: Callable[[], None]


@dataclass(frozen=True)
class Budget:
    """What one trace may take."""

    max_bytes: int
    max_steps: int | None
    max_seconds: float | None

    @staticmethod
    def of(max_bytes: int | str, max_steps: int | None, max_seconds: float | None) -> Budget:
        """Checks the limits that a caller passes."""
        return Budget(
            size_in_bytes("max_bytes", max_bytes),
            optional(whole_number, "max_steps", max_steps, least=1),
            optional(number, "max_seconds", max_seconds),
        )


@dataclass(eq=False)
class Capture:
    """One recording, from its start to its trace on disk."""

    logdir: str
    options: Any
    budget: Budget
    started_s: float = field(default_factory=time.monotonic)
    steps: int = 0
    #: The written files, none if the trace could not be written.
    files: list[Path] = field(default_factory=list)
    watch: Watch | None = None
    take_back: Callable[[], None] = lambda: None

    @property
    def is_remote(self) -> bool:
        """Whether the framework writes to an object store, where nothing can be moved or measured."""
        return "://" in self.logdir

    @property
    def aside(self) -> Path:
        """Folder beside the traces that no viewer looks into."""
        return Path(self.logdir) / f".stepscope-{os.getpid()}-{int(self.started_s * 1e9)}"


class Recorder:
    """Starts and stops the captures of one framework, one at a time."""

    def __init__(self, profiler: FrameworkProfiler) -> None:
        self.profiler = profiler
        #: The captures that were started, in their order.
        self.captures: list[Capture] = []
        self.step_times = StepTimes()
        self._current: Capture | None = None
        self._is_changing = False
        self._open_steps = 0
        self._steps_seen = 0
        self._is_stop_expected = False

    @property
    def current(self) -> Capture | None:
        """The capture that is being recorded."""
        return self._current

    def start(self, logdir: str | os.PathLike[str], options: Any, budget: Budget) -> Capture | None:
        """Starts a capture; returns None, and prints why, if that is not possible.

        A running capture of Stepscope is closed first and its trace kept.
        """
        capture = Capture(os.fspath(logdir), options, budget)
        if self._current is not None:
            name = self.profiler.name
            say(f"closing the trace in {self._current.logdir}: another one starts, and {name} records one at a time")
            self._finish(self._current)
        with self._changing():
            try:
                if not capture.is_remote:
                    _check_folder(Path(capture.logdir))
                self.profiler.start(capture.logdir if capture.is_remote else str(capture.aside), options)
            except ImportError:
                raise
            except OSError as error:
                say(f"not recording: cannot write traces to {capture.logdir}: {_reason(error)}; the program continues")
                return None
            except Exception as error:
                failure = f"{self.profiler.name}'s profiler did not start: {_reason(error)}"
                say(f"not recording: {failure}; the program continues")
                return None
            self._current = capture
            self._is_stop_expected = False
            self.captures.append(capture)
            capture.take_back = before_end(lambda why: self.stop(capture))
            capture.watch = Watch(
                budget.max_bytes,
                lambda: self._end_at_limit(capture),
                max_s=budget.max_seconds,
                trace_bytes_per_byte_of_memory=_TRACE_BYTES_PER_BYTE_OF_MEMORY,
            )
        return capture

    def stop(self, capture: Capture | None = None, *, is_kept: bool = True) -> None:
        """Ends the capture, or the current one, and writes its trace. One that has ended is left alone."""
        if capture is None and self._current is None and not self._is_stop_expected:
            module = self.profiler.module
            say(f"stop() changes nothing: no profiler is recording; call {module}.start(logdir) first")
        if self._current is not None and capture in (None, self._current) and not self._is_changing:
            self._finish(self._current, is_kept=is_kept)
        self._is_stop_expected = False

    def step_begins(self) -> None:
        """Notes that a step begins; a step inside another one is a part of it."""
        self._open_steps += 1

    def step_ends(self, begun_in: Capture | None, duration_s: float) -> None:
        """Counts a step that began and ended in the same capture, or outside of any."""
        self._open_steps = max(0, self._open_steps - 1)
        capture = self._current
        if self._open_steps or begun_in is not capture:
            return
        self._steps_seen += 1
        if capture is None:
            # The first step of a program sets things up, and says nothing of the others.
            if self._steps_seen > 1:
                self.step_times.note(duration_s, is_recorded=False)
            return
        capture.steps += 1
        self.step_times.note(duration_s, is_recorded=True)
        if capture.steps == capture.budget.max_steps:
            self._is_stop_expected = True
            self._finish(capture)

    def _end_at_limit(self, capture: Capture) -> bool:
        """Ends a capture that has reached a limit; returns whether that is possible now."""
        if capture is not self._current:
            return True
        if self._is_changing:
            return False
        age_s, budget = time.monotonic() - capture.started_s, capture.budget
        if budget.max_seconds is not None and age_s >= budget.max_seconds:
            reached = f"max_seconds ({budget.max_seconds:g}) is over"
        else:
            reached = f"the trace may have reached max_bytes ({readable_size(budget.max_bytes)})"
        say(f"stopped recording after {age_s:.1f} s: {reached}; the program continues unrecorded")
        self._is_stop_expected = True
        self._finish(capture)
        return True

    def _finish(self, capture: Capture, *, is_kept: bool = True) -> None:
        with self._changing():
            self._current = None
            if capture.watch is not None:
                capture.watch.stop()
            try:
                self._write(capture, is_kept)
            except Exception as error:
                self.profiler.release()
                say(f"no trace was written to {capture.logdir}: {_reason(error)}; the program continues")
            except BaseException:
                self.profiler.release()
                say("no trace was written: interrupted before it was complete")
                raise
            finally:
                capture.take_back()
                if not capture.is_remote:
                    shutil.rmtree(capture.aside, ignore_errors=True)

    def _write(self, capture: Capture, is_kept: bool) -> None:
        self.profiler.stop()
        if capture.is_remote:
            counted = f"{number_of_steps(capture.steps)} in " if capture.steps else "the trace is in "
            say(f"{counted}{capture.logdir}; copy it here to open it")
        elif is_kept:
            capture.files = _move_to_free_names(capture.aside, Path(capture.logdir))
            size_bytes = sum(file.stat().st_size for file in capture.files if file.name.endswith(".xplane.pb"))
            say(describe_capture(Path(capture.logdir), size_bytes, capture.steps, self.step_times.overhead()))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Keeps signals and the watch from ending a capture that is being started or ended."""
        with postponed():
            self._is_changing = True
            try:
                yield
            finally:
                self._is_changing = False


class CaptureBlock:
    """A `with` block that records a trace."""

    def __init__(self, recorder: Recorder, logdir: str | os.PathLike[str], options: Any, budget: Budget) -> None:
        self._recorder = recorder
        self._logdir = logdir
        self._options = options
        self._budget = budget
        self._capture: Capture | None = None

    def __enter__(self) -> Self:
        self._capture = self._recorder.start(self._logdir, self._options, self._budget)
        return self

    def __exit__(self, *_: object) -> None:
        if self._capture is not None:
            # Not whatever runs by then: another one may have closed this one.
            self._recorder.stop(self._capture)

    @property
    def steps(self) -> int:
        """Number of recorded steps."""
        return 0 if self._capture is None else self._capture.steps

    @property
    def overhead(self) -> float | None:
        """Extra time of recorded steps, as a share of unrecorded ones.

        None if there were fewer than three steps of either kind, or if the difference is within their noise.
        """
        return self._recorder.step_times.overhead()


class MarkedStep:
    """Marks a step with an annotation of the framework, times it and counts it."""

    def __init__(self, recorder: Recorder, annotation: Any) -> None:
        self._recorder = recorder
        self._annotation = annotation
        self._begun_in = recorder.current
        self._started_s = time.perf_counter()
        recorder.step_begins()

    def __enter__(self) -> MarkedStep:
        self._annotation.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._annotation.__exit__(*error)
        self._recorder.step_ends(self._begun_in, time.perf_counter() - self._started_s)


def _check_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(None, "no permission to write")


def _move_to_free_names(aside: Path, logdir: Path) -> list[Path]:
    """Moves what the framework wrote to the log folder, and returns the files there."""
    moved: list[Path] = []
    for run in sorted((aside / "plugins" / "profile").iterdir()):
        written = sorted(run.iterdir())
        folder = _free_folder(logdir / "plugins" / "profile", run.name, [file.name for file in written])
        for file in written:
            os.replace(file, folder / file.name)
            moved.append(folder / file.name)
    return moved


def _free_folder(profiles: Path, run: str, names: list[str]) -> Path:
    """Returns the folder of a run in which none of the files exists; other hosts may have theirs in it."""
    folder, attempt = profiles / run, 1
    while any((folder / name).exists() for name in names):
        attempt += 1
        folder = profiles / f"{run}_{attempt}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _reason(error: Exception) -> str:
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(words).splitlines()[0].rstrip(".")
