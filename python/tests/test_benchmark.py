"""The tables and pictures of the benchmark are what was measured, and nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DRAWN = ("README.md", "docs/benchmark.md", "docs/pictures/benchmark-dark.svg", "docs/pictures/benchmark-light.svg")
# The last digit of a time.
CELL = re.compile(r"\d(?= s(?:\*\*|,| \||<))")


def check(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "bench" / "draw", "--check", "--root", root]
    return subprocess.run(command, capture_output=True, text=True)


def test_every_cell_comes_from_the_result() -> None:
    said = check(ROOT)
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("name", DRAWN)
def test_a_typed_cell_is_found(name: str, tmp_path: Path) -> None:
    for file in (*DRAWN, "bench/results/compare.json"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    assert check(tmp_path).returncode == 0
    edited = tmp_path / name
    text = edited.read_text()
    *_, cell = CELL.finditer(text)
    edited.write_text(f"{text[:cell.start()]}9{text[cell.start():]}")
    said = check(tmp_path)
    assert said.returncode == 1 and name in said.stderr, said.stderr
