"""What is written and what is streamed: nothing is destroyed, nothing grows without bound."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stepscope as ss
from stepscope import errors


@pytest.fixture(scope="module")
def run(torch_trace: Path) -> ss.Run:
    return ss.open(torch_trace)


def test_batches_are_the_rows_of_the_query(run: ss.Run) -> None:
    statement = "SELECT span_id, name, dur_ns FROM spans ORDER BY span_id"
    batches = run.sql_batches(statement)
    assert batches.columns == ["span_id", "name", "dur_ns"] and batches.types == ["Int64", "Utf8", "Int64"]
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert rows == run.sql(statement).to_pylist()
    assert list(batches) == []
    assert sum(len(batch) for batch in run.sql_batches(statement, limit=7)) == 7
    with pytest.raises(errors.QueryError):
        run.sql_batches("SELECT nmae FROM spans")


def test_batches_are_an_arrow_stream(run: ss.Run) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    statement = "SELECT span_id, dur_ns FROM spans ORDER BY span_id"
    reader = pyarrow.RecordBatchReader.from_stream(run.sql_batches(statement))
    assert reader.read_all().to_pylist() == run.sql(statement).to_pylist()


GROWTH = """
import resource, sys
import stepscope as ss

def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

run = ss.open(sys.argv[1], memory_limit=256 << 20)
before, rows = peak(), 0
for batch in run.sql_batches("SELECT value AS a, value + 1 AS b, value * 2 AS c, value % 7 AS d FROM generate_series(1, 20000000)"):
    rows += len(batch)
print(rows, peak() - before)
"""


def test_batches_take_little_memory_however_many_there_are(torch_trace: Path) -> None:
    said = subprocess.run([sys.executable, "-c", GROWTH, str(torch_trace)], check=True, capture_output=True, text=True)
    rows, growth_mib = map(int, said.stdout.split())
    # All of it would be 640 MB.
    assert rows == 20_000_000 and growth_mib < 128, said.stdout


def test_a_memory_limit_that_does_not_suffice_is_said_in_our_words(torch_trace: Path) -> None:
    small = ss.open(torch_trace, memory_limit=8 << 20)
    with pytest.raises(errors.MemoryLimitError) as caught:
        small.sql("SELECT array_agg(value) FROM generate_series(1, 5000000)")
    assert "the memory limit of 8 MiB is too small" in str(caught.value)
    assert '`memory_limit="16MiB"`' in str(caught.value)
    assert isinstance(caught.value, MemoryError) and "Resources exhausted" not in str(caught.value)


def test_a_picture_never_replaces_its_trace(torch_trace: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json.gz"
    shutil.copy(torch_trace, trace)
    before = trace.read_bytes()
    os.link(trace, tmp_path / "hard.json.gz")
    (tmp_path / "link.json.gz").symlink_to(trace)
    picture = ss.open(trace).timeline()
    for name in ("trace.json.gz", "hard.json.gz", "link.json.gz"):
        with pytest.raises(errors.UsageError, match="the output is an input"):
            picture.save(tmp_path / name)
    assert trace.read_bytes() == before
    with pytest.raises(errors.OutputError) as caught:
        picture.save("/dev/full")
    assert isinstance(caught.value, OSError) and "the disk is full" in str(caught.value)
    picture.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_lines_never_replaces_its_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('ran')\n")
    (tmp_path / "link.py").symlink_to(script)
    for name in ("script.py", "link.py"):
        command = [sys.executable, "-m", "stepscope", "lines", "-o", name, "script.py"]
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert said.returncode == 2 and "the output is an input" in said.stderr and said.stdout == "", said
    assert script.read_text() == "print('ran')\n"
    command = [sys.executable, "-m", "stepscope", "lines", "-o", "/dev/full", "script.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode == 5 and "the disk is full" in said.stderr, said


def test_a_closed_standard_output_is_an_error(torch_trace: Path) -> None:
    command = f"'{sys.executable}' -m stepscope ops '{torch_trace}'"
    for redirect in (">&-", ">/dev/full"):
        said = subprocess.run(["sh", "-c", f"{command} {redirect}"], capture_output=True, text=True)
        assert said.returncode == 5, (redirect, said)
