"""The pytest plugin: fails a test whose block takes longer than in saved runs.

`pytest` loads it by itself. It imports neither the engine nor torch before a test needs them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from stepscope.errors import StepscopeError, UsageError
from stepscope.testing.baseline import Baseline, append_run, read_baseline
from stepscope.testing.cores import why_not_alone
from stepscope.testing.measured import Measured, markdown, table
from stepscope.testing.measurement import Measurement
from stepscope.testing.torch_trace import TorchTrace, trace_name
from stepscope.testing.verdict import INCONCLUSIVE, REGRESSION, judge

__all__ = ["InconclusiveWarning", "Stepscope", "stepscope", "stepscope_clock"]

DEFAULT_BASELINE = ".stepscope/pytest.json"
TRACES = ".stepscope/traces"


class InconclusiveWarning(pytest.PytestWarning):
    """Neither shows nor excludes that a block got slower."""


class Stepscope:
    """Measures blocks of one test: the value of the fixture `stepscope`."""

    def __init__(self, clock: Callable[[], float], is_tracing: bool = False) -> None:
        self._clock = clock
        self._is_tracing = is_tracing
        self._measurements: dict[str, Measurement] = {}

    def measure(self, name: str, rounds: int = 30, *, warmup: int = 1) -> Measurement:
        """Measures a block. Loop over what it yields; each round is one value.

            with stepscope.measure("step", rounds=30) as rounds:
                for _ in rounds:
                    step()

        A block without a loop runs once and is one value, which is too few for a verdict.

        Args:
            name: Name of the block, once per test.
            rounds: Number of timed rounds.
            warmup: Number of rounds before them that are not timed.

        Raises:
            UsageError: The name was measured before, or a number is wrong.
        """
        if not isinstance(name, str) or not name or name in self._measurements:
            raise UsageError(f"expected a name that this test has not measured yet, found: {name!r}")
        for what, count, least in (("rounds", rounds, 1), ("warmup", warmup, 0)):
            if isinstance(count, bool) or not isinstance(count, int) or count < least:
                raise UsageError(f"{what}: expected a whole number of at least {least}, found: {count!r}")
        trace = TorchTrace() if self._is_tracing else None
        measurement = Measurement(name, rounds, warmup, self._clock, trace)
        self._measurements[name] = measurement
        return measurement


@pytest.fixture
def stepscope_clock() -> Callable[[], float]:
    """The clock of measured blocks: returns seconds. Override it to simulate times."""
    return time.perf_counter


@pytest.fixture
def stepscope(request: pytest.FixtureRequest, stepscope_clock: Callable[[], float]) -> Stepscope:
    """Measures blocks of a test, and compares them with saved runs."""
    return _session_of(request.config).begin(request.node, stepscope_clock)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("stepscope", "stepscope: times of measured blocks")
    group.addoption("--stepscope-save", action="store_true", help="Save the times of this session as a run")
    group.addoption("--stepscope-compare", action="store_true", help="Fail tests that are slower than the saved runs")
    group.addoption(
        "--stepscope-baseline",
        metavar="FILE",
        help=f"Save to and compare with this file (default: {DEFAULT_BASELINE} in the root folder)",
    )
    group.addoption("--stepscope-strict", action="store_true", help="Fail tests with an inconclusive comparison")
    group.addoption(
        "--stepscope-trace",
        action="store_true",
        help=f"Record one more round with torch, and keep it in {TRACES} if the test fails",
    )
    group.addoption("--stepscope-md", metavar="FILE", help="Write a Markdown table of the session")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "stepscope(max_regression=0.02, baseline=None): smallest slowdown that fails the test, as a share; "
        "another file of saved runs, or the id of another test to compare with",
    )
    session = _Session(config)
    config.stash[_SESSION] = session
    config.pluginmanager.register(session, "stepscope-session")


class _Session:
    """Hooks of one session. Workers measure and judge; only the controller writes files."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.option
        self.root = config.rootpath
        self.is_saving: bool = option.stepscope_save
        self.is_comparing: bool = option.stepscope_compare
        self.is_strict: bool = option.stepscope_strict
        self.is_tracing: bool = option.stepscope_trace
        # Absolute, as workers get the options and may run in another folder.
        for name in ("stepscope_baseline", "stepscope_md"):
            given = getattr(option, name)
            setattr(option, name, given and os.path.join(config.invocation_params.dir, given))
        self.path = Path(option.stepscope_baseline or self.root / DEFAULT_BASELINE)
        self.markdown_path: str | None = option.stepscope_md
        worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.is_controller = worker is None
        self.worker_count = 1 if worker is None else int(worker["workercount"])
        self.baselines: dict[Path, Baseline] = {}
        self.measured: dict[tuple[str, str], Measured] = {}
        self.notes: list[str] = []
        if self.is_controller and (self.is_saving or self.is_comparing):
            try:
                self.baseline(self.path)
            except UsageError as error:
                raise pytest.UsageError(f"stepscope: {error}") from error

    def begin(self, item: pytest.Item, clock: Callable[[], float]) -> Stepscope:
        """Prepares a test that uses the fixture, or skips it."""
        _limits_of(item)  # A wrong marker fails before anything is measured.
        reason = why_not_alone(self.worker_count)
        if reason is not None:
            pytest.skip(f"stepscope: times are measured only by a worker that is alone on its cores: {reason}")
        found = Stepscope(clock, self.is_tracing)
        item.stash[_FIXTURE] = found
        # A test that is run again begins with nothing.
        item.stash[_MEASURED] = {}
        item.stash[_IS_INCONCLUSIVE] = False
        return found

    def baseline(self, path: Path) -> Baseline:
        if path not in self.baselines:
            self.baselines[path] = read_baseline(path)
        return self.baselines[path]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        problems = self._judge(item) if self.is_comparing else []
        if problems:
            pytest.fail("\n".join(problems), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        measured = self._measured(item) if call.when == "call" else []
        for one in measured:
            item.user_properties.extend(one.properties())
        report = yield
        for one in measured:
            one.is_kept = report.passed or (report.failed and item.stash[_IS_INCONCLUSIVE])
            if report.failed and self.is_tracing:
                one.trace = self._write_trace(item, one)
                report.sections.append((f"stepscope trace of {one.name}", one.trace))
        if measured:
            setattr(report, _REPORTED, [one.to_dict() for one in measured])
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for document in getattr(report, _REPORTED, ()):
            one = Measured.of(document)
            # A test that is run again replaces what it measured before.
            self.measured[one.test, one.name] = one

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.is_controller:
            return
        try:
            if self.is_saving:
                self._save()
            for difference in sorted({line for one in self.measured.values() for line in one.differences}):
                self.notes.append(difference)
            if self.markdown_path is not None:
                self._write_markdown(Path(self.markdown_path))
        except StepscopeError as error:
            self.notes.append(f"error: {error}")
            if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.measured and not self.notes:
            return
        terminalreporter.write_sep("=", "stepscope")
        for line in [*(table(list(self.measured.values())) if self.measured else ()), *self.notes]:
            terminalreporter.write_line(line)
        for one in self.measured.values():
            if one.trace is not None:
                terminalreporter.write_line(f"trace of {one.test}, {one.name}: {one.trace}")

    def _measured(self, item: pytest.Item) -> list[Measured]:
        """What a test measured so far; the same objects each time."""
        fixture = item.stash.get(_FIXTURE, None)
        if fixture is None:
            return []
        known = item.stash[_MEASURED]
        path = _limits_of(item)[1] or self.path
        for name, measurement in fixture._measurements.items():
            if name not in known and measurement.values_s:
                known[name] = Measured(_id_of(item), name, measurement.values_s, str(path))
        return list(known.values())

    def _judge(self, item: pytest.Item) -> list[str]:
        """Compares what a test measured; returns what fails it."""
        regressions, inconclusive = [], []
        for one in self._measured(item):
            limit, _, other_test = _limits_of(item)
            test = other_test or one.test
            try:
                baseline = self.baseline(Path(one.path))
            except UsageError as error:
                return [f"stepscope: {error}"]
            verdict = judge(one.name, baseline.series(test, one.name), one.values_s, limit)
            one.verdict = verdict
            one.differences = baseline.differences(test, one.name)
            details = "\n  ".join([*str(verdict).splitlines(), *one.differences])
            if verdict.word == REGRESSION:
                regressions.append(f"stepscope: {one.name} got slower\n  {details}")
            elif verdict.word == INCONCLUSIVE:
                if not item.stash[_FIXTURE]._measurements[one.name].has_loop:
                    details += "\n  the block is one value: write `as rounds: for _ in rounds: …` to measure several"
                inconclusive.append(f"stepscope: {one.name} is inconclusive\n  {details}")
        if self.is_strict:
            item.stash[_IS_INCONCLUSIVE] = bool(inconclusive) and not regressions
            return regressions + inconclusive
        for message in inconclusive:
            item.warn(InconclusiveWarning(message))
        return regressions

    def _write_trace(self, item: pytest.Item, one: Measured) -> str:
        trace = item.stash[_FIXTURE]._measurements[one.name].trace
        path = self.root / TRACES / trace_name(one.test, one.name)
        problem = "it was not recorded" if trace is None else trace.write(path)
        return str(path) if problem is None else f"no trace: {problem}"

    def _save(self) -> None:
        values: dict[str, dict[str, dict[str, list[float]]]] = {}
        kept = [one for one in self.measured.values() if one.is_kept]
        for one in kept:
            values.setdefault(one.path, {}).setdefault(one.test, {})[one.name] = one.values_s
        if not self.measured:
            self.notes.append("saved nothing: no test measured a block")
        elif len(kept) < len(self.measured):
            self.notes.append(f"measured in failed tests, so not saved: {len(self.measured) - len(kept)}")
        for path, tests in sorted(values.items()):
            count = append_run(Path(path), tests)
            self.notes.append(f"saved run {count}: {_shown(path, self.root)}")

    def _write_markdown(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(markdown(list(self.measured.values()), self.notes), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"the table cannot be written: {error.strerror}", str(path)) from error


_SESSION = pytest.StashKey[_Session]()
_FIXTURE = pytest.StashKey[Stepscope]()
_MEASURED = pytest.StashKey[dict[str, Measured]]()
_IS_INCONCLUSIVE = pytest.StashKey[bool]()
#: Attribute of a report, which workers send to the controller.
_REPORTED = "stepscope_measured"


def _session_of(config: pytest.Config) -> _Session:
    return config.stash[_SESSION]


def _limits_of(item: pytest.Item) -> tuple[float | None, Path | None, str | None]:
    """Returns what the marker sets: the allowed slowdown, the file, the test to compare with."""
    marker = item.get_closest_marker("stepscope")
    if marker is None:
        return None, None, None
    unknown = [*map(repr, marker.args), *sorted(set(marker.kwargs) - {"max_regression", "baseline"})]
    if unknown:
        found = ", ".join(unknown)
        pytest.fail(f"marker stepscope: expected max_regression and baseline, found: {found}", pytrace=False)
    limit, baseline = marker.kwargs.get("max_regression"), marker.kwargs.get("baseline")
    is_share = isinstance(limit, (int, float)) and not isinstance(limit, bool) and 0 < limit < float("inf")
    if limit is not None and not is_share:
        pytest.fail(f"marker stepscope: expected max_regression above 0, such as 0.05, found: {limit!r}", pytrace=False)
    if baseline is not None and not isinstance(baseline, (str, os.PathLike)):
        pytest.fail(f"marker stepscope: expected baseline as a file or a test, found: {baseline!r}", pytrace=False)
    if baseline is None:
        return limit, None, None
    if "::" in os.fspath(baseline):
        return limit, None, os.fspath(baseline)
    return limit, item.config.rootpath / baseline, None


def _id_of(item: pytest.Item) -> str:
    """Returns the id of a test, without the group that pytest-xdist appends with --dist loadgroup."""
    is_grouped = item.config.getoption("loadgroup", False) and item.get_closest_marker("xdist_group") is not None
    return item.nodeid.rpartition("@")[0] if is_grouped and "@" in item.nodeid else item.nodeid


def _shown(path: str, root: Path) -> str:
    """Returns a path as people in the root folder write it."""
    try:
        return str(Path(path).relative_to(root))
    except ValueError:
        return path
