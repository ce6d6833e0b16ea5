"""What a type checker says about programs that use the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
pytest.importorskip("torch")

RIGHT = """
import stepscope as ss
from stepscope.torch import ExecutionTraceObserver, ProfilerActivity, profile, schedule, trace_handler

plan = schedule(wait=1, warmup=1, active=3)
with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=trace_handler("runs"), max_bytes="1GB") as prof:
    prof.step()
    prof.step(samples=4)
share: float | None = prof.overhead
rows = prof.key_averages(group_by_input_shape=True)
print(rows.table(sort_by="cuda_time_total"), rows[0].key.upper(), rows[0].cuda_time_total + 1, rows[0].count + 1)
prof.export_chrome_trace("trace.json")
prof.add_metadata("key", "value")
run = ss.open("runs", memory_limit="1GB")
print(run.ops(group_by="input_shape").to_pandas(), ss.__version__.upper())
ss.configure(wait=1, unit="steps", max_bytes="1GB")
ss.step(samples=4)
"""

#: A line, and what is wrong with it.
WRONG = [
    ("prof.stp()", '"profile" has no attribute "stp"'),
    ("prof.setp(samples=3)", '"profile" has no attribute "setp"'),
    ('prof.step(samples="many")', 'Argument "samples" to "step"'),
    ("profile(with_stakc=True)", 'Unexpected keyword argument "with_stakc"'),
    ("profile(max_bytes=None)", 'Argument "max_bytes" to "profile"'),
    ("prof.key_averages().tabel()", '"KeyAverages" has no attribute "tabel"'),
    ("prof.key_averages()[0].cuda_tim_total", '"AverageRow" has no attribute "cuda_tim_total"'),
    ('ss.opne("runs")', 'Module has no attribute "opne"'),
    ("ss.torch.profle()", 'Module has no attribute "profle"'),
    ("ss.open(5)", 'Argument 1 to "open"'),
    ('ss.open("runs").stpes()', '"Run" has no attribute "stpes"'),
    ('ss.open("runs").ops(gruop_by="rank")', 'Unexpected keyword argument "gruop_by"'),
    ("ss.configure(warm_up=1)", 'Unexpected keyword argument "warm_up"'),
    ('ss.configure(active="three")', 'Argument "active" to "configure"'),
    ('ss.step(samples="many")', 'Argument "samples" to "step"'),
]


def said(folder: Path, program: str) -> str:
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(folder), "program.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


def test_a_right_program_passes(tmp_path: Path) -> None:
    assert said(tmp_path, RIGHT) == ""


def test_misspelled_names_and_wrong_values_are_found(tmp_path: Path) -> None:
    head = "import stepscope as ss\nfrom stepscope.torch import profile\nprof = profile()\n"
    found = said(tmp_path, head + "\n".join(line for line, _ in WRONG) + "\n")
    for number, (line, problem) in enumerate(WRONG, start=head.count("\n") + 1):
        assert f"program.py:{number}: error: {problem}" in found, line
