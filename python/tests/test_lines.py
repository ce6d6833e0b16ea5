"""The line profiler: counts and shares against line_profiler, and against answers worked out by hand."""

from __future__ import annotations

import csv
import io
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import line_profiler
import line_program
import pytest

import stepscope.lines
from stepscope.lines import LineProfile, LineProfiler

pytestmark = pytest.mark.measures_time

THIS_FILE = Path(__file__)
BEGIN = {function.__name__: function.__code__.co_firstlineno for function in line_program.FUNCTIONS}


def counts(profile: LineProfile, function: str) -> dict[int, int]:
    """Hits by line, counted from the line with `def`."""
    rows = [row for row in profile if row.function == function]
    return {row.line_number - row.function_line: row.hits for row in rows}


def recorded(action: Callable[[], Any], **options: Any) -> LineProfile:
    with stepscope.lines.profile(**options) as profiler:
        action()
    return profiler.result()


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def time_of(profile: LineProfile, code: str) -> float:
    (row,) = [row for row in profile if row.code.startswith(code)]
    return row.time_ns / 1e9


def test_counts_are_those_of_line_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    profiler = line_profiler.LineProfiler(*line_program.FUNCTIONS)
    with monkeypatch.context() as patch:
        patch.setattr(line_program, "around", lambda: profiler)
        with profiler:
            line_program.everything()
    theirs = {
        first_line: {line: hits for line, hits, _ in lines}
        for (_, first_line, _), lines in profiler.get_stats().timings.items()
    }
    profile = recorded(line_program.everything)
    for name, first_line in BEGIN.items():
        ours = {row.line_number: row.hits for row in profile if row.function_line == first_line}
        assert ours == theirs[first_line], name
    assert len(theirs) == len(BEGIN)


@pytest.mark.parametrize(
    ("function", "hits"),
    [
        # Once in the main thread with 20 numbers, once in each of three threads with 3.
        ("loops", {1: 4, 2: 33, 3: 29, 4: 10, 5: 19, 6: 8, 7: 4, 9: 4, 10: 4}),
        # fib(7) is 41 calls, fib(4) is 9.
        ("recursion", {1: 68, 2: 36, 3: 32, 4: 32, 5: 32}),
        # 4 and 3 numbers to the end, and one that nobody asks further.
        ("numbers", {1: 10, 2: 8, 3: 8, 4: 2}),
        # Each value that goes through comes back to the line without a hit.
        ("delegating", {1: 1, 2: 1}),
        ("failing", {1: 12, 2: 5, 3: 7}),
        # A comprehension is a part of its line.
        ("comprehensions", {1: 1, 2: 1, 3: 1, 4: 1, 5: 1}),
        ("comprehensions.<locals>.<lambda>", {0: 6}),
        ("waiting", {1: 2, 2: 10, 3: 8, 4: 8, 5: 2}),
        ("decorated.<locals>.wrapper", {1: 2, 2: 2}),
    ],
)
def test_counts_are_those_of_the_source(function: str, hits: dict[int, int]) -> None:
    if sys.version_info < (3, 11):
        function = function.rpartition(".")[2]
    assert counts(recorded(line_program.everything), function) == hits


def test_comprehensions_are_no_functions_of_their_own() -> None:
    profile = recorded(lambda: line_program.comprehensions(3), files=[line_program.__file__])
    names = {row.function.rpartition(".")[2] for row in profile}
    assert names == {"comprehensions", "<lambda>"}


def clear_costs(turns: int) -> int:
    total = 0
    for _ in range(turns):
        total += sum(range(2_000))
        total += sum(range(6_000))
        total += sum(range(12_000))
    return total


def test_shares_are_those_of_line_profiler() -> None:
    """By the median of many rounds, in turns, each far shorter than a time slice: few of them lose the core midway."""
    theirs: defaultdict[int, list[float]] = defaultdict(list)
    ours: defaultdict[int, list[float]] = defaultdict(list)
    for _ in range(301):
        profiler = line_profiler.LineProfiler(clear_costs)
        with profiler:
            clear_costs(1)
        (lines,) = profiler.get_stats().timings.values()
        for line, _, duration in lines:
            theirs[line].append(duration)
        for row in recorded(lambda: clear_costs(1)):
            if row.function == "clear_costs":
                ours[row.line_number].append(row.time_ns)
    assert ours.keys() == theirs.keys()
    assert max(shares(ours).values()) > 50
    assert shares(ours) == pytest.approx(shares(theirs), abs=3)


def shares(times: dict[int, list[float]]) -> dict[int, float]:
    """Percent of the whole by line."""
    medians = {line: statistics.median(values) for line, values in times.items()}
    return {line: 100 * median / sum(medians.values()) for line, median in medians.items()}


def test_time_of_a_line_holds_its_calls() -> None:
    def outer() -> None:
        inner()

    def inner() -> None:
        spin(0.1)

    profile = recorded(outer)
    assert time_of(profile, "inner()") >= time_of(profile, "spin(0.1)") >= 0.1
    # Each moment counts once in the whole.
    assert profile.total_ns / 1e9 < 1.5 * time_of(profile, "inner()")
    (row,) = [row for row in profile if row.code == "inner()"]
    assert 90 < row.time_percent <= 100


def test_suspended_time_does_not_count_and_resumed_time_does() -> None:
    def generator() -> Iterator[None]:
        for _ in range(2):
            yield spin(0.03)
            spin(0.02 if (yield) is None else 0)

    def consumer() -> None:
        for _ in generator():
            spin(0.2)

    profile = recorded(consumer)
    assert 0.06 <= time_of(profile, "yield spin(0.03)") < 0.2
    # The part behind the `yield` belongs to its line, twice.
    assert 0.04 <= time_of(profile, "spin(0.02 if (yield)") < 0.2
    assert time_of(profile, "spin(0.2)") >= 0.8


def test_every_level_of_a_recursion_has_its_time() -> None:
    def descend(levels: int) -> None:
        if levels:
            descend(levels - 1)
        else:
            spin(0.05)

    profile = recorded(lambda: descend(3))
    assert time_of(profile, "descend(levels - 1)") >= 0.15
    # The whole is what the clock on the wall shows.
    assert 0.05 <= profile.total_ns / 1e9 < 0.15


def test_a_line_that_an_exception_leaves_has_its_time() -> None:
    def failing() -> None:
        int("no number" if spin(0.02) is None else "1")

    def catching() -> None:
        try:
            failing()
        except ValueError:
            pass

    profile = recorded(catching)
    assert time_of(profile, "failing()") >= time_of(profile, 'int("no number"') >= 0.02
    catching_name = next(row.function for row in profile if row.code == "failing()")
    assert counts(profile, catching_name) == {1: 1, 2: 1, 3: 1, 4: 1}


def test_threads_that_run_at_the_end_count_up_to_it() -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def waiter() -> None:
        has_begun.set()
        may_end.wait()

    with stepscope.lines.profile() as profiler:
        thread = threading.Thread(target=waiter)
        thread.start()
        has_begun.wait()
        spin(0.05)
    may_end.set()
    thread.join()
    assert time_of(profiler.result(), "may_end.wait()") >= 0.05


def test_profilers_nest() -> None:
    outer, inner = LineProfiler(), LineProfiler()
    other = LineProfiler([line_program.__file__])
    outer.start()
    outer.start()
    line_program.loops(3)
    with inner, other:
        line_program.loops(6)
    outer.stop()
    line_program.loops(9)
    assert counts(outer.result(), "loops")[2] == 4 + 7 + 10
    outer.stop()
    outer.stop()
    line_program.loops(100)
    assert counts(outer.result(), "loops")[2] == 4 + 7 + 10
    assert counts(inner.result(), "loops")[2] == counts(other.result(), "loops")[2] == 7
    assert {row.file for row in inner.result()} == {line_program.__file__, __file__}
    assert {row.file for row in other.result()} == {line_program.__file__}
    # It goes on where it was.
    with inner:
        line_program.loops(1)
    assert counts(inner.result(), "loops")[2] == 9
    assert sys.gettrace() is None


def test_a_profiler_inside_another_may_want_other_files() -> None:
    with stepscope.lines.profile([__file__]) as outer:
        line_program.loops(1)
        with stepscope.lines.profile([line_program.__file__]) as inner:
            line_program.loops(2)
    assert counts(inner.result(), "loops")[1] == 1
    assert {row.file for row in outer.result()} == {__file__}


def test_one_file_may_stand_for_a_list_of_one() -> None:
    for files in (__file__, Path(__file__)):
        with LineProfiler(files) as profiler:
            _ = sum(range(10))
        assert [row.code for row in profiler.result()] == ["_ = sum(range(10))"]


def test_nothing_recorded_says_so() -> None:
    assert str(LineProfiler().result()) == "no line was recorded"


def test_stop_without_start_is_harmless() -> None:
    profiler = LineProfiler()
    profiler.stop()
    assert len(profiler.result()) == 0
    with profiler:
        line_program.loops(1)
    assert counts(profiler.result(), "loops")[1] == 1


def test_the_line_that_ends_a_recording_is_left_out() -> None:
    profiler = LineProfiler()
    profiler.start()
    number = 1
    profiler.stop()
    assert [row.code for row in profiler.result()] == ["number = 1"]
    assert number


def test_by_default_installed_files_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "installed_here.py").write_text("def call(function):\n    return function()\n")
    (tmp_path / "own_module.py").write_text("def call(function):\n    return function()\n")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    monkeypatch.syspath_prepend(tmp_path)
    import installed_here  # type: ignore[import-not-found]
    import own_module  # type: ignore[import-not-found]

    def work() -> None:
        installed_here.call(lambda: own_module.call(lambda: sorted([1], key=repr)))
        csv.DictReader(io.StringIO("a,b")).fieldnames
        exec("number = 1")

    def files(patterns: list[str] | None) -> set[str]:
        return {Path(row.file).name for row in recorded(work, files=patterns)}

    assert files(None) == {THIS_FILE.name, "own_module.py"}
    assert files([str(tmp_path)]) == {"installed_here.py", "own_module.py"}
    assert files([csv.__file__]) == {"csv.py"}
    assert files(["*/own_*.py", "*/csv.py"]) == {"csv.py", "own_module.py"}
    monkeypatch.chdir(tmp_path)
    assert files(["own_module.py"]) == {"own_module.py"}
    assert files([]) == set()


def test_another_trace_function_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    if sys.version_info >= (3, 12):
        pytest.skip("trace functions and sys.monitoring do not get in each other's way")
    profiler = LineProfiler()
    profiler.start()
    sys.settrace(lambda *_: None)
    profiler.stop()
    sys.settrace(None)
    assert "took over" in capsys.readouterr().err
    assert "took over" in profiler.result().to_dict()["health"]["notes"][0]

    def before(frame: Any, event: str, argument: Any) -> None: ...

    sys.settrace(before)
    try:
        recorded(lambda: line_program.loops(1))
        assert sys.gettrace() is before
    finally:
        sys.settrace(None)


def test_memory_names_the_line_that_allocates() -> None:
    def allocating() -> list[object]:
        small = [0]
        many_megabytes = bytearray(b"1" * 64_000_000)
        numbers = list(range(1_000_000, 1_250_000))
        del numbers
        return [small, many_megabytes]

    profile = recorded(allocating, memory=True)
    growth = {row.code.split(" ")[0]: row for row in profile if "allocating" in row.function}
    kept = growth["many_megabytes"]
    assert kept.python_growth_bytes == pytest.approx(64_000_000, rel=0.01)
    assert growth["small"].python_growth_bytes is not None and abs(growth["small"].python_growth_bytes) < 10_000
    # 8 bytes a place, and 28 or 32 a number.
    assert growth["numbers"].python_growth_bytes == pytest.approx(9_000_000, rel=0.15)
    assert growth["del"].python_growth_bytes == pytest.approx(-growth["numbers"].python_growth_bytes, rel=0.01)
    if sys.platform == "linux":
        # More than the allocator ever keeps for later.
        assert kept.memory_growth_bytes == pytest.approx(64_000_000, rel=0.1)
    import tracemalloc

    assert not tracemalloc.is_tracing()


def test_memory_that_was_not_measured_is_not_zero() -> None:
    profile = recorded(lambda: line_program.loops(1))
    assert {row.memory_growth_bytes for row in profile} == {row.python_growth_bytes for row in profile} == {None}
    nulls = profile.to_dict()["nulls"]
    assert nulls.keys() == {"rows[].memory_growth_bytes", "rows[].python_growth_bytes"}
    assert "--memory" in nulls["rows[].python_growth_bytes"]
