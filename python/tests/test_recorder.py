"""The recorder under everything that programs do: threads, tasks, forks, workers, exceptions, and sudden ends."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import stepscope as ss

pytestmark = pytest.mark.measures_time

#: Regions of a run by name; the number of processes and of tracks that have some.
_COUNTS = "SELECT name, count(*) AS regions FROM spans WHERE kind = 'ann' GROUP BY name ORDER BY name"


def _start(folder: Path, program: str, *arguments: str) -> subprocess.Popen[str]:
    script = folder / "program.py"
    script.write_text(textwrap.dedent(program))
    command = [sys.executable, str(script), str(folder / "recording"), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _run(folder: Path, program: str, *, code: int = 0) -> str:
    """Runs a program that records into `sys.argv[1]`; it must end by itself, quietly."""
    process = _start(folder, program)
    try:
        output, errors = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(f"the program hangs: {process.communicate()}")
    assert process.returncode == code, errors
    return output


def _counts(folder: Path) -> dict[str, int]:
    table = ss.open(folder / "recording").sql(_COUNTS).to_arrow()
    return dict(zip(table["name"].to_pylist(), table["regions"].to_pylist(), strict=True))


def _tracks(folder: Path) -> int:
    statement = "SELECT count(DISTINCT track_id) AS tracks FROM spans WHERE kind = 'ann'"
    tracks = ss.open(folder / "recording").sql(statement).to_arrow()["tracks"].to_pylist()
    assert len(tracks) == 1
    return int(tracks[0])


def test_threads(tmp_path: Path) -> None:
    _run(
        tmp_path,
        """
        import sys, threading
        import stepscope as ss
        profiler = ss.PerformanceProfiler(record=sys.argv[1])
        def work(number):
            for _ in range(1000):
                with profiler.profile(f"thread {number}"), profiler.profile("inner"):
                    pass
        threads = [threading.Thread(target=work, args=(number,), name=f"worker {number}") for number in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """,
    )
    assert _counts(tmp_path) == {"inner": 8000, **{f"thread {number}": 1000 for number in range(8)}}
    assert _tracks(tmp_path) == 8
    names = ss.open(tmp_path / "recording").sql("SELECT thread_name FROM tracks WHERE spans > 0 ORDER BY 1").to_arrow()
    assert names["thread_name"].to_pylist() == [f"worker {number}" for number in range(8)]
    summary = str(ss.open(tmp_path / "recording").summary())
    assert re.search(r"takes \d+ % of the time in regions", summary) and "TOP REGIONS" in summary, summary


def test_tasks_of_asyncio_do_not_lie_in_each_other(tmp_path: Path) -> None:
    _run(
        tmp_path,
        """
        import asyncio, sys
        import stepscope as ss
        profiler = ss.PerformanceProfiler(record=sys.argv[1])
        @profiler.profile("decorated")
        async def inner():
            await asyncio.sleep(0.001)
        async def task(number):
            for _ in range(20):
                with profiler.profile(f"task {number}"):
                    await inner()
        async def main():
            await asyncio.gather(*(task(number) for number in range(5)))
        asyncio.run(main())
        breakdown = profiler.get_timing_breakdown()
        totals = {totals.name: totals for totals in profiler._recorder.totals()}
        # The inner regions take nearly all of the time of the outer ones, and nobody else's.
        for number in range(5):
            assert totals[f"task {number}"].self_ns < totals[f"task {number}"].total_ns / 2, breakdown
        assert totals["decorated"].self_ns == totals["decorated"].total_ns
        """,
    )
    assert _counts(tmp_path) == {"decorated": 100, **{f"task {number}": 20 for number in range(5)}}
    nested = """
        SELECT parent.name AS parent, count(*) AS regions
        FROM spans AS inner_span JOIN spans AS parent ON parent.span_id = inner_span.parent_id
        WHERE inner_span.name = 'decorated' GROUP BY 1 ORDER BY 1
    """
    table = ss.open(tmp_path / "recording").sql(nested).to_arrow()
    assert table["parent"].to_pylist() == [f"task {number}" for number in range(5)]
    assert table["regions"].to_pylist() == [20] * 5


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_record_into_one_file(tmp_path: Path, method: str) -> None:
    _run(
        tmp_path,
        f"""
        import multiprocessing, sys
        import stepscope as ss
        profiler = ss.PerformanceProfiler(record=sys.argv[1])
        def work(number):
            for _ in range(500):
                with profiler.profile("in a process"):
                    pass
        if __name__ == "__main__":
            with profiler.profile("parent"):
                context = multiprocessing.get_context("{method}")
                processes = [context.Process(target=work, args=(number,)) for number in range(4)]
                for process in processes: process.start()
                for process in processes: process.join()
                assert all(process.exitcode == 0 for process in processes)
        """,
    )
    assert _counts(tmp_path) == {"in a process": 2000, "parent": 1}
    assert _tracks(tmp_path) == 5
    assert len(list((tmp_path / "recording").iterdir())) == 1


def test_workers_of_a_data_loader(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    _run(
        tmp_path,
        """
        import sys
        import torch
        import stepscope as ss
        profiler = ss.PerformanceProfiler(record=sys.argv[1])
        class Data(torch.utils.data.Dataset):
            def __len__(self):
                return 200
            def __getitem__(self, index):
                with profiler.profile("getitem"):
                    return torch.zeros(4)
        loader = torch.utils.data.DataLoader(Data(), batch_size=10, num_workers=4)
        for _ in range(2):
            for batch in loader:
                with profiler.profile("step", samples=len(batch)):
                    pass
        assert profiler.get_metrics("step").throughput > 0
        """,
    )
    assert _counts(tmp_path) == {"getitem": 400, "step": 40}
    assert _tracks(tmp_path) == 9, "the main thread, and four workers of each epoch"


def test_exceptions_and_re_entrance(tmp_path: Path) -> None:
    _run(
        tmp_path,
        """
        import sys
        import stepscope as ss
        profiler = ss.PerformanceProfiler(record=sys.argv[1])
        region = profiler.profile("recursive")
        def descend(depth):
            with region:
                if depth == 0:
                    raise ValueError("at the bottom")
                descend(depth - 1)
        for _ in range(10):
            try:
                descend(20)
            except ValueError:
                pass
        def generator():
            with profiler.profile("generator"):
                yield 1
                yield 2
        one, other = generator(), generator()
        next(one), next(other), one.close(), other.close()
        with profiler.profile("after"):
            pass
        totals = {totals.name: totals for totals in profiler._recorder.totals()}
        assert totals["after"].is_outermost
        profiler.close()
        profiler.close()
        """,
    )
    assert _counts(tmp_path) == {"after": 1, "generator": 2, "recursive": 210}


def test_the_end_of_the_interpreter_loses_nothing(tmp_path: Path) -> None:
    # Neither closed nor left: an exception goes through, and a thread is still at work.
    _run(
        tmp_path,
        """
        import sys, threading, time
        import stepscope as ss
        profiler = ss.PerformanceProfiler(record=sys.argv[1])
        def work():
            while True:
                with profiler.profile("daemon"):
                    time.sleep(0.001)
        threading.Thread(target=work, daemon=True).start()
        for _ in range(3000):
            with profiler.profile("main"):
                pass
        sys.exit(7)
        """,
        code=7,
    )
    assert _counts(tmp_path)["main"] == 3000


def test_profilers_of_one_process_share_its_recording(tmp_path: Path) -> None:
    output = _run(
        tmp_path,
        """
        import sys
        import stepscope as ss
        first = ss.PerformanceProfiler(record=sys.argv[1])
        second = ss.PerformanceProfiler(record=sys.argv[1])
        print(first.recording == second.recording)
        second.close()
        with first.profile("after the second one closed"):
            pass
        """,
    )
    assert output == "True\n"
    assert _counts(tmp_path) == {"after the second one closed": 1}


_KILLED = """
    import sys, time
    import stepscope as ss
    profiler = ss.PerformanceProfiler(record=sys.argv[1])
    print(profiler.recording, flush=True)
    while True:
        with profiler.profile("step"):
            with profiler.profile("forward"):
                time.sleep(0.0005)
"""


@pytest.mark.parametrize("attempt", range(int(os.environ.get("STEPSCOPE_KILLS", "10"))))
def test_a_program_that_is_killed_leaves_a_run(tmp_path: Path, attempt: int) -> None:
    process = _start(tmp_path, _KILLED)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(random.Random(attempt).uniform(0.6, 2.0))
    process.send_signal(signal.SIGKILL)
    killed_ns = time.time_ns()
    process.wait()
    process.stdout.close()
    run = ss.open(tmp_path / "recording")
    ends = run.sql("SELECT max(start_ns + dur_ns) AS end_ns, count(*) AS regions FROM spans WHERE kind = 'ann'").to_arrow()
    assert ends["regions"].to_pylist()[0] > 100
    lost_s = (killed_ns - ends["end_ns"].to_pylist()[0]) / 1e9
    assert lost_s <= 1.0, f"{lost_s:.2f} s are lost"
