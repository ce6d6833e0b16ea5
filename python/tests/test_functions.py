"""Profiles of cProfile: figures and orders are those of `pstats`, and `stepscope run --cprofile` records one."""

from __future__ import annotations

import cProfile
import io
import os
import pstats
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stepscope as ss
from stepscope import errors

SORT_KEYS = ["calls", "ncalls", "pcalls", "tottime", "time", "cumtime", "cumulative", "filename", "module", "name"]
SORT_KEYS += ["nfl", "line", "stdname"]


def _recursion() -> None:
    def fibonacci(number: int) -> int:
        return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)

    def even(number: int) -> bool:
        return number == 0 or odd(number - 1)

    def odd(number: int) -> bool:
        return number != 0 and even(number - 1)

    fibonacci(12)
    even(30)


def _generators() -> None:
    def count(limit: int) -> Any:
        yield from (number * number for number in range(limit))

    assert sum(count(50)) == list(count(51))[-1] + 37925


def _builtins() -> None:
    words = "the quick brown fox jumps over the lazy dog".split()
    for _ in range(20):
        sorted(words, key=len)
        "".join(reversed(words))
        max(map(len, words))


def _threads() -> None:
    def work() -> None:
        re.sub("a", "b", "banana" * 20)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _c_functions() -> None:
    import json
    import zlib

    text = json.dumps({str(number): [number] * 3 for number in range(40)})
    zlib.decompress(zlib.compress(text.encode()))
    re.findall(r"\d+", text)


def _unicode_names() -> None:
    names: dict[str, Any] = {}
    source = "def größe(x):\n    return x\n\ndef 面積(x):\n    return größe(x) ** 2\n\nfor i in range(5):\n    面積(i)\n"
    exec(compile(source, "größe 📐.py", "exec"), names)


def _exceptions() -> None:
    def failing(depth: int) -> None:
        if depth == 0:
            raise ValueError("as planned")
        try:
            failing(depth - 1)
        finally:
            len("cleaned up")

    for depth in range(4):
        try:
            failing(depth)
        except ValueError:
            pass


def _lambdas() -> None:
    both = [(lambda x: x + 1), (lambda x: x - 1)]  # Two functions with one name.
    for _ in range(3):
        for function in both:
            function(1)
    sorted([3, 1, 2], key=lambda number: -number)


PROGRAMS: list[Callable[[], None]] = [
    _recursion,
    _generators,
    _builtins,
    _threads,
    _c_functions,
    _unicode_names,
    _exceptions,
    _lambdas,
]


def _record(program: Callable[[], None], folder: Path) -> Path:
    profiler = cProfile.Profile()
    profiler.enable()
    program()
    profiler.disable()
    path = folder / f"{program.__name__.strip('_')}.prof"
    profiler.dump_stats(path)
    return path


def _function(row: dict[str, Any]) -> tuple[str, int, str]:
    return row["file"], row["line"], row["name"]


def _check(path: Path) -> None:
    """Compares every figure, every order and every caller with `pstats`."""
    theirs: Any = pstats.Stats(str(path), stream=io.StringIO())
    report = ss.open(path).functions()
    rows = report.to_dict()["rows"]
    assert len(rows) == len(theirs.stats)
    for row in rows:
        primitive, calls, tottime, cumtime, _ = theirs.stats[_function(row)]
        assert (row["calls"], row["primitive_calls"]) == (calls, primitive), row
        assert row["ncalls"].replace(",", "") == (str(calls) if calls == primitive else f"{calls}/{primitive}")
        assert (row["tottime_ns"], row["cumtime_ns"]) == (round(tottime * 1e9), round(cumtime * 1e9)), row
        assert row["tottime_per_call_ns"] == pytest.approx(tottime * 1e9 / calls, rel=1e-9, abs=1e-3)
        assert row["cumtime_per_call_ns"] == pytest.approx(cumtime * 1e9 / primitive, rel=1e-9, abs=1e-3)
    assert [_function(row) for row in rows] == theirs.sort_stats("cumulative").fcn_list
    for key in SORT_KEYS:
        ours = [_function(row) for row in report.pick(sort=key).to_dict()["rows"]]
        assert ours == theirs.sort_stats(key).fcn_list, key
    _check_callers(path, theirs)


def _check_callers(path: Path, theirs: Any) -> None:
    theirs.sort_stats("cumulative").calc_callees()
    sides = {"caller": {name: figures[4] for name, figures in theirs.stats.items()}, "callee": theirs.all_callees}
    for side, told in sides.items():
        rows = ss.open(path).functions(group_by=side).to_dict()["rows"]
        expected = [
            (function, other) for function in theirs.fcn_list for other in sorted(told.get(function, {})) or [None]
        ]
        seen = [
            (_function(row), row["other"] and (row["other_file"], row["other_line"], row["other"])) for row in rows
        ]
        assert seen == expected, side
        for row, (function, other) in zip(rows, expected, strict=True):
            if other is not None:
                calls, primitive, tottime, cumtime = told[function][other]
                assert (row["calls"], row["primitive_calls"]) == (calls, primitive), row
                assert (row["tottime_ns"], row["cumtime_ns"]) == (round(tottime * 1e9), round(cumtime * 1e9)), row


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__.strip("_"))
def test_a_recorded_profile_is_that_of_pstats(program: Callable[[], None], tmp_path: Path) -> None:
    path = _record(program, tmp_path)
    _check(path)
    if program is _recursion:
        assert "/1" in str(ss.open(path).functions())


@pytest.mark.parametrize("name", ["equibind_profile", "equibind_on_rtx_profile"])
def test_a_real_profile_is_that_of_pstats(name: str) -> None:
    corpus = os.environ.get("STEPSCOPE_CORPUS")
    if not corpus:
        pytest.skip("STEPSCOPE_CORPUS is not set")
    _check(Path(corpus) / "traces" / "cprofile" / f"{name}.pstats")


def test_an_empty_profile(tmp_path: Path) -> None:
    path = tmp_path / "empty.prof"
    cProfile.Profile().dump_stats(path)
    run = ss.open(path)
    assert run.functions().to_dict()["rows"] == []
    assert "0 function calls" in str(run.summary())


def test_profiles_add_up_as_those_of_pstats(tmp_path: Path) -> None:
    paths = [_record(program, tmp_path) for program in (_recursion, _builtins, _exceptions)]
    theirs: Any = pstats.Stats(str(paths[0]))
    theirs.add(*map(str, paths[1:]))
    for row in ss.open(paths).functions().to_dict()["rows"]:
        primitive, calls, tottime, cumtime, _ = theirs.stats[_function(row)]
        assert (row["calls"], row["primitive_calls"]) == (calls, primitive)
        assert row["cumtime_ns"] == pytest.approx(cumtime * 1e9, abs=1)


def test_the_summary_of_a_profile_speaks_of_functions_only(tmp_path: Path) -> None:
    path = _record(_recursion, tmp_path)
    command = [sys.executable, "-m", "stepscope", str(path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "fibonacci" in said and "function calls" in said
    assert not re.search(r"\b(GPU|step|kernel|device)s?\b", said), said


def test_a_cut_profile_warns(tmp_path: Path) -> None:
    path = _record(_c_functions, tmp_path)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.warns(UserWarning, match="profile ends early, 1 function is lost"):
        assert len(ss.open(path).functions()) > 0
    with pytest.raises(errors.TraceError, match="profile ends early"):
        ss.open(path, strict=True)


SCRIPT = """
import sys

def slow(count):
    return sum(number * number for number in range(count))

slow(int(sys.argv[1]))
print(sys.argv[1:], __name__)
"""


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stepscope", "run", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_run_records_the_functions_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    ended = _run(tmp_path, "--cprofile", "train.py", "100")
    assert (ended.returncode, ended.stdout) == (0, "['100'] __main__\n"), ended.stderr
    (path,) = tmp_path.glob("runs/train_*/*/train.prof")
    told = re.fullmatch(r"stepscope: recorded [\d,]+ functions; show them with: stepscope (.*)\n", ended.stderr)
    assert told, ended.stderr
    shown = subprocess.run(
        [sys.executable, "-m", "stepscope", *told[1].split()], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "slow" in shown.stdout
    _check(path)
    files = {row["file"] for row in ss.open(path).functions().to_dict()["rows"]}
    assert str(tmp_path / "train.py") in files or any(file.endswith("train.py") for file in files)
    assert not any("stepscope" in file or "runpy" in file for file in files - {str(tmp_path / "train.py")}), files


def test_run_records_a_script_that_fails(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text("def failing():\n    raise ValueError('as planned')\nfailing()\n")
    ended = _run(tmp_path, "--cprofile", "failing.py")
    assert ended.returncode == 1 and "as planned" in ended.stderr and "recorded" in ended.stderr
    (tmp_path / "leaving.py").write_text("raise SystemExit(3)")
    ended = _run(tmp_path, "--cprofile", "leaving.py")
    assert ended.returncode == 3 and "recorded" in ended.stderr


def test_run_refuses_two_profilers_at_once(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    ended = _run(tmp_path, "--cprofile", "--profiling.active", "1", "train.py", "1")
    assert ended.returncode == 2 and "--profiling.active" in ended.stderr
    assert not (tmp_path / "runs").exists()


def test_the_commands_of_the_guide_run(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "functions.md").read_text(encoding="utf-8")
    blocks = {kind: re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) for kind in ("python", "sh")}
    (script,) = blocks["python"]
    (tmp_path / "prepare.py").write_text(script)
    commands = "".join(blocks["sh"])
    assert commands.count("stepscope ") > 8
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    assert ended.returncode == 0, ended.stderr
    assert "words" in ended.stdout and (tmp_path / "prepare.html").exists()
