"""A run, its answers and their columns."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stepscope as ss
from stepscope import errors
from stepscope._native import analyses


@pytest.fixture(scope="module")
def run(torch_trace: Path) -> ss.Run:
    return ss.open(torch_trace)


def test_every_analysis_of_the_command_is_a_method(run: ss.Run) -> None:
    for name, _, _ in analyses():
        report = getattr(run, name)()
        assert report.name == name
        assert str(report).strip()
        assert "<table" in report._repr_html_() or "<p" in report._repr_html_()


def test_answers_are_those_of_the_command(run: ss.Run, torch_trace: Path) -> None:
    command = [sys.executable, "-m", "stepscope", "ops", str(torch_trace), "--group-by", "input_shape", "-f", "json"]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert run.ops(group_by="input_shape").to_dict()["rows"] == said["rows"]
    metrics = json.loads(
        subprocess.run(
            [sys.executable, "-m", "stepscope", "metrics", str(torch_trace), "-f", "json"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    assert run.metrics() == metrics["metrics"]


def test_changes_are_those_of_the_command(run: ss.Run, torch_trace: Path) -> None:
    command = [sys.executable, "-m", "stepscope", "whatif", str(torch_trace), "--host-half", "--scale", "op:aten::*=1/2"]
    said = json.loads(subprocess.run([*command, "-f", "json"], check=True, capture_output=True, text=True).stdout)
    report = run.whatif(host_half=True, scale={"op:aten::*": "1/2"})
    assert report.to_dict()["rows"] == said["rows"]
    assert [row["change"] for row in said["rows"]] == ["scale op:aten::*=1/2", "host-half", "together"]
    with pytest.raises(errors.UsageError, match="no change given"):
        run.whatif()
    with pytest.raises(errors.UsageError, match="remove: expected KIND:PATTERN, such as op:aten::copy_, found gemm"):
        run.whatif(remove="gemm")


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The simulated job of `demo` after its data loading was fixed."""
    folder = tmp_path_factory.mktemp("fixed") / "job"
    subprocess.run([sys.executable, "-m", "stepscope", "demo", "--fixed", str(folder)], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("part", [{}, {"rank": 1}, {"rank": 0, "step": "2-4"}])
def test_two_runs_compare_as_the_command_does(demo: Path, fixed: Path, part: dict[str, Any]) -> None:
    options = [word for name, value in part.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "stepscope", "diff", str(demo), str(fixed), *options, "-f", "json"]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    report = ss.diff(demo, [fixed], **part)
    assert report.name == "diff" and len(report) == len(said["rows"]) > 0
    assert report.to_dict() == said
    # Lines are as wide as the terminal.
    assert said["headline"] in str(report).replace("\n", " ")
    opened = ss.open(demo)
    assert opened.diff(ss.open(fixed), **part).to_dict()["rows"] == said["rows"]
    assert ss.diff(opened, ss.open(fixed), **part).to_dict()["rows"] == said["rows"]


def test_what_cannot_be_compared_is_said(demo: Path, fixed: Path) -> None:
    with pytest.raises(errors.NotFoundError):
        ss.diff(demo, "nothing.json")
    with pytest.raises(errors.UsageError, match="rank"):
        ss.diff(demo, fixed, rank=7)
    with pytest.raises(TypeError, match="later: expected a Run"):
        ss.open(demo).diff(str(fixed))  # type: ignore[arg-type]


def test_a_part_of_the_run(run: ss.Run) -> None:
    all_rows = run.steps().to_dict()["rows"]
    assert len(all_rows) > 1
    number = all_rows[1]["step_number"]
    assert all_rows[1]["name"] == f"ProfilerStep#{number}"
    for step in (number, str(number), (number, number), range(number, number + 1)):
        rows = run.steps(step=step).to_dict()["rows"]
        assert [row["step"] for row in rows] == [1], step
    with pytest.raises(errors.UsageError, match="step"):
        run.steps(step=10_000)
    with pytest.raises(errors.UsageError, match="step: expected a step such as 3, or steps such as 2-5, found 'one'"):
        run.steps(step="one")
    with pytest.raises(TypeError, match="unknown keyword 'steps'"):
        run.ops(steps=3)  # type: ignore[call-arg]


def test_rows_are_picked(run: ss.Run) -> None:
    report = run.ops().pick(["name", "calls"], sort="-calls", limit=3)
    rows = report.to_dict()["rows"]
    assert len(rows) == 3 and list(rows[0]) == ["name", "calls"]
    assert rows == sorted(rows, key=lambda row: -row["calls"])
    with pytest.raises(errors.UsageError) as caught:
        run.ops().pick(["clals"])
    assert "did you mean calls?" in str(caught.value)


def test_sql(run: ss.Run) -> None:
    table = run.sql("SELECT name, count(*) AS count FROM spans GROUP BY name ORDER BY count DESC, name", limit=5)
    assert table.columns == ["name", "count"]
    assert len(table) == len(table.to_pylist()) == 5
    assert "count" in repr(table) and "<table" in table._repr_html_()
    with pytest.raises(errors.QueryError) as caught:
        run.sql("SELECT nmae FROM spans")
    assert caught.value.hint is not None


def test_columns_for_other_libraries(run: ss.Run) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    pytest.importorskip("pandas")
    table = run.sql("SELECT span_id, name, dur_ns FROM spans ORDER BY span_id")
    expected = table.to_pylist()
    assert table.to_arrow().to_pylist() == expected
    assert table.to_polars().to_dicts() == expected
    assert table.to_pandas().to_dict("records") == expected
    # The same memory twice: nothing was copied.
    first, second = (pyarrow.table(table).column("dur_ns").chunk(0).buffers()[1].address for _ in range(2))
    assert first == second
    assert polars.DataFrame(run.ops()).height == len(run.ops())


def test_rows_that_are_not_shown_are_said_in_the_words_of_python(demo: Path) -> None:
    run = ss.open(demo)
    usual, all_of_them = run.ops(group_by="input_shape,step"), run.ops(group_by="input_shape,step").pick(limit=0)
    assert len(usual) == len(all_of_them) > 40
    assert f"20 of {len(usual)} shown (pick(limit=0) shows all)" in str(usual)
    assert len(str(all_of_them).splitlines()) > len(usual) and "shown (" not in str(all_of_them)
    assert f"3 of {len(usual)} shown" in str(usual.pick(limit=3))
    # As many as the command shows, which of columns is all of them.
    assert len(str(ss.tables()).splitlines()) > len(ss.tables()) > 40
    table = run.sql("SELECT * FROM spans")
    assert "(to_pylist() and to_pandas() have all)" in repr(table) and "--" not in repr(table).splitlines()[-1]


def test_pictures(run: ss.Run, tmp_path: Path) -> None:
    number = run.steps().to_dict()["rows"][1]["step_number"]
    picture = run.timeline(step=number)
    assert "<svg" in picture._repr_html_() and "<script" not in picture._repr_html_()
    picture.save(tmp_path / "timeline.html")
    assert (tmp_path / "timeline.html").read_text().startswith("<!doctype html>")
    assert run.timeline()._repr_html_() != picture._repr_html_()
    with pytest.raises(errors.UsageError, match="no step 10000"):
        run.timeline(step=10_000)


def test_ranks(demo: Path) -> None:
    run = ss.open(demo)
    assert repr(run).startswith("<Run ")
    assert len(run.sources) > 1
    assert {row["rank"] for row in run.steps(rank=1).to_dict()["rows"]} <= {1}
    assert run.findings().to_dict()["rows"] == run.diagnose().to_dict()["rows"]
    assert len(run.findings()) > 0


def test_tables_are_listed() -> None:
    names = {row["table"] for row in ss.tables().to_dict()["rows"]}
    assert {"spans", "steps"} <= names


def test_errors_keep_their_hints(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError) as caught:
        ss.open(tmp_path / "nothing.json")
    assert isinstance(caught.value, FileNotFoundError) and "nothing.json" in str(caught.value)
    text = tmp_path / "text.json"
    text.write_text("no trace")
    with pytest.raises(errors.TraceError) as unreadable:
        ss.open(text)
    assert unreadable.value.hint and "text.json" in str(unreadable.value)
    assert issubclass(errors.QueryError, errors.UsageError) and issubclass(errors.UsageError, ValueError)


def test_a_broken_trace_warns(torch_trace: Path, tmp_path: Path) -> None:
    import gzip

    plain = gzip.decompress(torch_trace.read_bytes())
    cut = tmp_path / "cut.json"
    cut.write_bytes(plain[: len(plain) // 2])
    with pytest.warns(UserWarning):
        assert len(ss.open(cut).ops()) > 0
    with pytest.raises(errors.TraceError):
        ss.open(cut, strict=True)
