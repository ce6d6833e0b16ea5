"""The pytest plugin in sessions of its own, on simulated times."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest

from stepscope.errors import UsageError
from stepscope.testing.baseline import append_run, read_baseline
from stepscope.testing.cores import why_not_alone
from stepscope.testing.measurement import Measurement
from stepscope.testing.torch_trace import trace_name
from stepscope.testing.verdict import judge

#: Where the wheel is not installed, pytest does not know the plugin.
IS_INSTALLED = any(point.name == "stepscope" for point in entry_points(group="pytest11"))

CONFTEST = """
import os
import random

import pytest


class Simulated:
    def __init__(self):
        self.now_s = 0.0
        self.random = random.Random(int(os.environ.get("SEED", "0")))
        self.run = 1 + 0.003 * self.random.gauss(0, 1)

    def work(self, seconds):
        slower = float(os.environ.get("SLOWER", "1"))
        self.now_s += seconds * slower * self.run * (1 + 0.02 * self.random.gauss(0, 1))

    def __call__(self):
        return self.now_s


@pytest.fixture
def simulated():
    return Simulated()


@pytest.fixture
def stepscope_clock(simulated):
    return simulated
"""

STEP = """
def test_step(stepscope, simulated):
    with stepscope.measure("step", rounds=30) as rounds:
        for _ in rounds:
            simulated.work(0.010)
"""

MARKED = f"""
import pytest

@pytest.mark.stepscope(max_regression=0.5)
{STEP.strip()}
"""

KEY = "test_it.py::test_step"
SAVE, COMPARE = "--stepscope-save", "--stepscope-compare"


@dataclass
class Said:
    """What a session printed."""

    code: int
    text: str


def session(folder: Path, *options: str, test: str | None = None, seed: int = 9, slower: float = 1) -> Said:
    """Runs pytest on a test in a folder."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(CONFTEST)
    if test is not None or not (folder / "test_it.py").exists():
        (folder / "test_it.py").write_text(test or STEP)
    plugin = [] if IS_INSTALLED else ["-p", "stepscope.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"SEED": str(seed), "SLOWER": str(slower), "COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"}
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    return Said(said.returncode, said.stdout + said.stderr)


@pytest.fixture(scope="module")
def three_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a test and three saved runs of it."""
    folder = tmp_path_factory.mktemp("saved")
    for seed in range(3):
        said = session(folder, SAVE, seed=seed)
        assert said.code == 0 and f"saved run {seed + 1}: .stepscope/pytest.json" in said.text, said.text
    return folder


@pytest.fixture
def saved(three_runs: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    folder = tmp_path / "copied"
    shutil.copytree(three_runs, folder)
    return folder


def keep_runs(folder: Path, count: int) -> None:
    """Leaves only the first saved runs."""
    path = folder / ".stepscope" / "pytest.json"
    document = json.loads(path.read_text())
    document["runs"] = document["runs"][:count]
    path.write_text(json.dumps(document))


def test_a_run_is_saved_with_its_values_and_its_machine(three_runs: Path) -> None:
    document = json.loads((three_runs / ".stepscope" / "pytest.json").read_text())
    assert document["schema"] == "stepscope.pytest/1" and len(document["runs"]) == 3
    for run in document["runs"]:
        assert len(run["values"][KEY]["step"]) == 30
        assert set(run["machine"]) == {"host", "platform", "cpu_count", "python"}


def test_equal_code_passes(saved: Path) -> None:
    said = session(saved, COMPARE, "--stepscope-md", "session.md", "--junitxml", "junit.xml")
    assert said.code == 0 and "1 passed" in said.text and "warning" not in said.text, said.text
    assert re.search(r"test_it.py::test_step +step +30 .* pass$", said.text, re.MULTILINE), said.text
    table = (saved / "session.md").read_text()
    assert f"| {KEY} | step | 30 |" in table and "| pass |" in table
    found = ElementTree.parse(saved / "junit.xml").iter("property")
    properties = {str(one.get("name")): str(one.get("value")) for one in found}
    assert properties["stepscope.step.verdict"] == "pass"
    assert float(properties["stepscope.step.median_s"]) == pytest.approx(0.01, rel=0.05)
    assert {f"stepscope.step.{name}" for name in ("shift", "low", "high", "p")} < set(properties)
    assert len(json.loads((saved / ".stepscope" / "pytest.json").read_text())["runs"]) == 3


def test_slower_code_fails_with_what_was_measured(saved: Path) -> None:
    said = session(saved, COMPARE, SAVE, slower=1.3)
    assert said.code == 1 and "1 failed" in said.text, said.text
    assert "stepscope: step got slower" in said.text
    measured = re.search(r"([\d.]+) ms per round, ([\d.]+) ms in 3 saved runs", said.text)
    assert measured and float(measured[1]) == pytest.approx(13, rel=0.03), said.text
    assert float(measured[2]) == pytest.approx(10, rel=0.03)
    change = r"change \+(29|30|31)\.\d %, 98 % range \+2\d.* to \+3\d.*, p = .*reported from \+2.0 % on"
    assert re.search(change, said.text), said.text
    # A slower run does not become what later ones are compared with.
    assert "measured in failed tests, so not saved: 1" in said.text
    assert len(json.loads((saved / ".stepscope" / "pytest.json").read_text())["runs"]) == 3


def test_faster_code_passes(saved: Path) -> None:
    said = session(saved, COMPARE, slower=0.7)
    assert said.code == 0 and re.search(r"improvement$", said.text, re.MULTILINE), said.text


def test_the_marker_allows_more(saved: Path) -> None:
    said = session(saved, COMPARE, test=MARKED, slower=1.3)
    assert said.code == 0 and "warning" not in said.text, said.text
    assert session(saved, COMPARE, test=MARKED, slower=1.7).code == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("0.05", "expected max_regression and baseline, found: 0.05"),
        ("max_regresion=0.05", "found: max_regresion"),
        ("max_regression=-1", "expected max_regression above 0, such as 0.05, found: -1"),
    ],
)
def test_a_wrong_marker_is_an_error(saved: Path, arguments: str, problem: str) -> None:
    said = session(saved, test=MARKED.replace("max_regression=0.5", arguments))
    assert said.code == 1 and problem in said.text, said.text


def test_the_marker_names_another_file(saved: Path) -> None:
    (saved / ".stepscope" / "pytest.json").rename(saved / "other.json")
    test = MARKED.replace("max_regression=0.5", 'baseline="other.json"')
    said = session(saved, COMPARE, SAVE, test=test)
    assert said.code == 0 and "saved run 4: other.json" in said.text, said.text
    assert session(saved, COMPARE, slower=1.3).code == 1


def test_the_marker_names_another_test(saved: Path) -> None:
    test = MARKED.replace("max_regression=0.5", f'baseline="{KEY}"').replace("def test_step", "def test_other")
    said = session(saved, COMPARE, test=test, slower=1.3)
    assert said.code == 1 and "in 3 saved runs" in said.text, said.text


def test_two_runs_are_too_few(saved: Path) -> None:
    keep_runs(saved, 2)
    said = session(saved, COMPARE, slower=1.3)
    assert said.code == 0 and "1 passed, 1 warning" in said.text, said.text
    assert "step is inconclusive" in said.text and "two runs saved, expected three or more" in said.text
    # Saved all the same, or there would never be three.
    said = session(saved, COMPARE, SAVE, "--stepscope-strict")
    assert said.code == 1 and "two runs saved" in said.text and "saved run 3" in said.text, said.text


def test_few_values_are_inconclusive(saved: Path) -> None:
    said = session(saved, COMPARE, test=STEP.replace("rounds=30", "rounds=4"))
    assert said.code == 0 and "fewer than 5" in said.text and "InconclusiveWarning" in said.text, said.text


def test_a_block_without_a_loop_is_one_value(saved: Path) -> None:
    test = """
def test_step(stepscope, simulated):
    with stepscope.measure("step", rounds=30):
        simulated.work(0.010)
"""
    said = session(saved, COMPARE, test=test)
    assert said.code == 0 and "the block is one value" in said.text and "1 warning" in said.text, said.text


def test_another_machine_is_reported(saved: Path) -> None:
    path = saved / ".stepscope" / "pytest.json"
    document = json.loads(path.read_text())
    document["runs"][0]["machine"] |= {"host": "elsewhere", "cpu_count": 1024}
    path.write_text(json.dumps(document))
    said = session(saved, COMPARE, "--stepscope-md", "session.md")
    assert said.code == 0 and "saved with another host: elsewhere; now " in said.text, said.text
    assert "- saved with another number of CPUs: 1024; now " in (saved / "session.md").read_text()


OTHER = ("{", "[]", '{"schema": "stepscope.pytest/2"}', '{"schema": "stepscope.pytest/1", "runs": 1}')


@pytest.mark.parametrize("text", OTHER)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pytest.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=re.escape(str(path))):
        read_baseline(path)
    with pytest.raises(UsageError):
        append_run(path, {})
    assert path.read_text() == text


def test_a_wrong_file_ends_the_session_before_tests(saved: Path) -> None:
    (saved / "bad.json").write_text("{")
    said = session(saved, COMPARE, "--stepscope-baseline", "bad.json")
    assert said.code == 4 and "the saved runs cannot be read" in said.text and "Traceback" not in said.text, said.text


def test_a_test_that_is_run_again_is_measured_again(saved: Path) -> None:
    again = """
import os

from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    os.environ["SLOWER"] = "1.3"
    runtestprotocol(item, nextitem=None, log=True)
    os.environ["SLOWER"] = "1"
    runtestprotocol(item, nextitem=nextitem, log=True)
    return True
"""
    (saved / "again.py").write_text(again)
    said = session(saved, COMPARE, "-p", "again")
    assert "1 failed, 1 passed" in said.text and re.search(r" pass$", said.text, re.MULTILINE), said.text


def test_outputs_that_cannot_be_written_are_reported(saved: Path) -> None:
    said = session(saved, "--stepscope-md", "test_it.py/session.md")
    assert said.code == 4 and "1 passed" in said.text and "error: the table cannot be written" in said.text, said.text
    said = session(saved, SAVE, "--stepscope-baseline", "test_it.py/pytest.json")
    assert said.code == 4 and "INTERNALERROR" not in said.text and "Traceback" not in said.text, said.text


def test_nothing_native_is_imported_without_the_fixture(tmp_path: Path) -> None:
    test = """
import sys

def test_modules():
    loaded = [name for name in ("stepscope._native", "torch", "numpy") if name in sys.modules]
    assert "stepscope.pytest_plugin" in sys.modules and not loaded
"""
    said = session(tmp_path, COMPARE, SAVE, test=test)
    assert said.code == 0 and "saved nothing" in said.text, said.text
    # Measuring needs no engine either; only a comparison does.
    measured = STEP + "    import sys\n    assert 'stepscope._native' not in sys.modules\n"
    assert session(tmp_path, SAVE, test=measured).code == 0


def test_the_example_of_the_guide_runs(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "pytest.md").read_text()
    first = re.search(r"^```python\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    assert first
    said = session(tmp_path, SAVE, test=first[1])
    assert said.code == 0 and "saved run 1" in said.text, said.text


#: The second test takes longer than the saved runs of the first.
TWO = f"""
import pytest
{STEP}

@pytest.mark.stepscope(baseline="{KEY}")
{STEP.strip().replace("test_step", "test_slower").replace("0.010", "0.013")}
"""


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_a_failed_test_leaves_a_trace(saved: Path) -> None:
    line = "            simulated"
    test = "import torch\n" + TWO.replace(line, f"            torch.ones(3) + 1\n{line}")
    said = session(saved, COMPARE, "--stepscope-trace", test=test)
    name = trace_name("test_it.py::test_slower", "step")
    path = saved / ".stepscope" / "traces" / name
    assert said.code == 1 and "1 failed, 1 passed" in said.text, said.text
    assert f"trace of test_it.py::test_slower, step: {path}" in said.text, said.text
    assert [file.name for file in path.parent.iterdir()] == [name]
    assert "aten::add" in gzip.decompress(path.read_bytes()).decode()


class TestWithWorkers:
    """With pytest-xdist."""

    @pytest.fixture(autouse=True)
    def has_xdist(self) -> None:
        pytest.importorskip("xdist")

    def test_one_worker_measures_and_the_controller_saves(self, saved: Path) -> None:
        options = ("--junitxml", "junit.xml", "--stepscope-md", "session.md")
        said = session(saved, SAVE, COMPARE, "-n", "1", *options, test=TWO)
        assert said.code == 1 and "1 failed, 1 passed" in said.text, said.text
        assert "step got slower" in said.text and "saved run 4" in said.text
        document = json.loads((saved / ".stepscope" / "pytest.json").read_text())
        assert len(document["runs"]) == 4 and list(document["runs"][3]["values"]) == [KEY]
        assert len(document["runs"][3]["values"][KEY]["step"]) == 30
        assert "stepscope.step.verdict" in (saved / "junit.xml").read_text()
        table = (saved / "session.md").read_text()
        assert "| pass |" in table and "| regression |" in table

    def test_workers_that_share_cores_skip(self, saved: Path) -> None:
        said = session(saved, COMPARE, "-n", "2", "-rs")
        assert said.code == 0 and "1 skipped" in said.text, said.text
        assert "2 workers share cores; run with -n 1" in said.text, said.text

    @pytest.mark.skipif(
        not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two cores to pin to"
    )
    def test_workers_with_separate_cores_measure(self, saved: Path) -> None:
        pin = """
import os

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        number = int(config.workerinput["workerid"][2:])
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[number]})
"""
        (saved / "pin.py").write_text(pin)
        said = session(saved, COMPARE, "-n", "2", "-p", "pin", "-rs", slower=1.3)
        assert said.code == 1 and "step got slower" in said.text, said.text

    def test_a_group_is_not_part_of_the_name(self, saved: Path) -> None:
        test = MARKED.replace("stepscope(max_regression=0.5)", 'xdist_group("a")')
        said = session(saved, COMPARE, "-n", "1", "--dist", "loadgroup", test=test, slower=1.3)
        assert said.code == 1 and "in 3 saved runs" in said.text, said.text


def test_workers_of_an_unknown_system_are_not_alone(tmp_path: Path) -> None:
    assert why_not_alone(1, tmp_path) is None
    assert "the cores of 2 workers are not known" in str(why_not_alone(2, tmp_path))


def test_rounds_are_timed_one_by_one() -> None:
    now_s = 0.0
    seen = []
    with Measurement("step", 3, 2, lambda: now_s) as rounds:
        for index in rounds:
            seen.append(index)
            now_s += 1 + index
    assert seen == [-2, -1, 0, 1, 2] and rounds.values_s == [1, 2, 3]
    with pytest.raises(UsageError, match="a second loop"):
        iter(rounds)
    with pytest.raises(UsageError, match="outside of `with`"):
        iter(Measurement("step", 3, 2, lambda: now_s))


def test_the_verdict_follows_the_limit() -> None:
    values = [1 + 0.001 * (at * 7 % 30) for at in range(30)]
    slower = [1.04 * value for value in values]
    runs = [values, [1.001 * value for value in values], [0.999 * value for value in values]]
    assert judge("step", runs, values).word == "pass"
    assert judge("step", runs, slower).word == "regression"
    assert judge("step", runs, slower, 0.1).word == "pass"
    assert judge("step", [], slower).reason == "no run saved, expected three or more"
    assert judge("step", runs[:1], slower).reason == "one run saved, expected three or more"
