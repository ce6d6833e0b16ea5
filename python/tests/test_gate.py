"""A real job that gets slower on purpose, and the jobs that the documents show."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.measures_time

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).with_name("gate_job.py")
RECORD = "run --profiling.unit steps --profiling.wait 3 --profiling.active 20".split()
SLOWER = {
    "workers": (["--workers", "0"], ("dataloader", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")),
    "operator": (["--slow"], ("cpu_exec", "aten::sort")),
}


#: What the gate says of a baseline whose runs have different levels, as on a machine that is not quiet.
NOT_QUIET = "fewer than 5 independent values"


def skip_if_not_quiet(said: str) -> None:
    if NOT_QUIET in said:
        pytest.skip(f"this machine is not quiet enough: {NOT_QUIET}")


def stepscope(folder: Path, *arguments: str, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    said = subprocess.run([sys.executable, "-m", "stepscope", *arguments], cwd=folder, capture_output=True, text=True)
    assert said.returncode in codes, f"{arguments}: {said.returncode}\n{said.stdout}\n{said.stderr}"
    return said


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with five runs of the job, saved as base.json by the script of the documents."""
    folder = tmp_path_factory.mktemp("gate")
    (folder / "train.py").write_text(JOB.read_text())
    assert shell(folder, "baseline.sh").returncode == 0
    assert 1_000 < (folder / "base.json").stat().st_size < 200_000
    return folder


def shell(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Runs a script of docs/ci.md as it stands, with `stepscope` and `python` of this environment."""
    blocks = re.findall(r"^```bash\n(.*?)^```$", (ROOT / "docs" / "ci.md").read_text(), re.MULTILINE | re.DOTALL)
    script = next(block for block in blocks if block.startswith(f"# {name}\n"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )


@pytest.mark.parametrize("cause", SLOWER)
def test_a_slower_job_is_found_and_explained(baseline: Path, cause: str) -> None:
    arguments, first = SLOWER[cause]
    stepscope(baseline, *RECORD, "--output", f"slow-{cause}", "train.py", *arguments)
    checked = stepscope(baseline, "check", f"slow-{cause}", "--baseline", "base.json", "-f", "json", codes=(1, 4))
    skip_if_not_quiet(checked.stdout)
    answer = json.loads(checked.stdout)
    assert answer["verdict"] == "regression" and answer["rows"][0]["shift_ratio"] > 1
    row = answer["path_rows"][0]
    assert (row["class"], row["name"]) == first and row["noise"] in ("changed", "not tested"), row
    if row["noise"] == "not tested":
        # Steps that follow each other are alike where something else takes the processor for a while.
        pytest.skip(f"this machine is not quiet enough: {NOT_QUIET}")
    told = stepscope(baseline, "diff", "runs/base-1", f"slow-{cause}")
    assert re.match(r"B is .* slower per step", told.stdout), told.stdout


def test_the_script_of_a_pull_request_fails(baseline: Path) -> None:
    unchanged = shell(baseline, "check.sh")
    assert unchanged.returncode in (0, 1), unchanged.stderr
    assert (baseline / "check.md").read_text().startswith("**")
    shutil.rmtree(baseline / "runs" / "new")
    (baseline / "train.py").write_text(JOB.read_text().replace("default=2", "default=0"))
    failed = shell(baseline, "check.sh")
    (baseline / "train.py").write_text(JOB.read_text())
    skip_if_not_quiet(failed.stdout)
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "<failure" in (baseline / "check.xml").read_text()


def test_the_script_that_records_in_turns_fails(tmp_path: Path) -> None:
    for name, workers in (("old", "2"), ("new", "0")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(JOB.read_text().replace("default=2", f"default={workers}"))
    said = shell(tmp_path, "in-turns.sh")
    skip_if_not_quiet(said.stdout)
    assert said.returncode == 1, said.stdout + said.stderr
    assert "dataloader" in (tmp_path / "check.md").read_text()
