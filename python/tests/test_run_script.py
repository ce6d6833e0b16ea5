"""`stepscope run` on real scripts, each in a process of its own: the three ways of the guide, and how scripts end."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stepscope.running

measures_time = pytest.mark.measures_time

PACKAGE_ROOT = Path(stepscope.running.__file__).parents[2]
RUN = "import sys; from stepscope.running import main; sys.exit(main(sys.argv[1:]))"
WITHOUT_TORCH = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Blocker())
"""

TRAINING = """
import sys
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
data = TensorDataset(torch.randn(8, 4), torch.randn(8, 2))
training, validation = DataLoader(data, batch_size=4), DataLoader(data, batch_size=8)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(6):
    for x, y in training:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    for x, y in validation:
        model(x)
print(sys.argv[1:], __name__, sys.path[0])
"""

GUIDE_SECTION = """
training:
  epochs: 10

profiling:
  wait: 1              # Number of epochs to skip before profiling starts
  warmup: 1            # Number of warmup epochs (not recorded)
  active: 3            # Number of epochs to actively profile
  repeat: 1            # Number of times to repeat the cycle
  record_shapes: true  # Record tensor shapes in traces
  profile_memory: true # Profile memory allocations
  with_stack: false    # Record source code stack traces (adds overhead)
"""


class Ended:
    """What is left of a process that ran in `folder`."""

    def __init__(self, folder: Path, process: subprocess.CompletedProcess[str]) -> None:
        self.folder = folder
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr
        self.notes = [line for line in process.stderr.splitlines() if line.startswith("stepscope: ")]

    def traces(self, output: str = "runs") -> list[Path]:
        return sorted((self.folder / output).glob("*/*/profiler_traces/*.json*"))

    def events(self) -> list[dict[str, Any]]:
        (trace,) = self.traces()
        content = trace.read_bytes()
        content = gzip.decompress(content) if trace.suffix == ".gz" else content
        events: list[dict[str, Any]] = [event for event in json.loads(content)["traceEvents"] if event.get("ph") == "X"]
        return sorted(events, key=lambda event: float(event["ts"]))

    def steps(self) -> list[str]:
        # On a GPU the same names appear a second time, on its tracks.
        return [
            event["name"]
            for event in self.events()
            if event["name"].startswith("ProfilerStep#") and event.get("cat") == "user_annotation"
        ]


def start(folder: Path, *arguments: str, code: str = RUN) -> Ended:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *arguments]
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    return Ended(folder, process)


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def test_way_one_a_section_in_the_default_config(tmp_path: Path) -> None:
    write(tmp_path, "code/latent.py", TRAINING)
    write(tmp_path, "code/latent_default.yaml", GUIDE_SECTION)
    ended = start(tmp_path, "code/latent.py", "my_run", "--lr", "0.1", "--config", "own.yaml")
    assert (ended.code, ended.out) == (
        0,
        f"['my_run', '--lr', '0.1', '--config', 'own.yaml'] __main__ {tmp_path / 'code'}\n",
    )
    assert ended.steps() == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
    # Two batches an epoch: the passes for validation are no epochs of their own.
    assert sum(event["name"] == "Optimizer.step#SGD.step" for event in ended.events()) == 6
    assert any("Input Dims" in event.get("args", {}) for event in ended.events())
    folder = ended.traces()[0].parent.relative_to(tmp_path).as_posix()
    uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    assert re.fullmatch(rf"runs/latent_default_\d{{4}}-\d\d-\d\d_[a-z0-9]{{6}}/{uuid}/profiler_traces", folder)
    assert ended.notes == [f"stepscope: recorded 3 epochs; open with: stepscope open {folder}"]
    assert ended.err.rstrip().endswith(ended.notes[0])


def test_way_two_a_config_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, "latent.py", TRAINING)
    write(tmp_path, "latent_default.yaml", "profiling:\n  not_read: 1\n")
    write(tmp_path, "my_profiling_run.yaml", GUIDE_SECTION.replace("active: 3", "active: 1"))
    ended = start(tmp_path, "--config", "my_profiling_run.yaml", "--output", "elsewhere", "latent.py")
    assert ended.code == 0
    (trace,) = ended.traces("elsewhere")
    assert trace.relative_to(tmp_path / "elsewhere").parts[0].startswith("my_profiling_run_")
    assert "recorded 1 epoch;" in ended.notes[0]


def test_way_three_options_among_the_arguments_of_the_script(tmp_path: Path) -> None:
    write(tmp_path, "latent.py", TRAINING)
    options = {"wait": "1", "warmup": "2", "active": "2", "repeat": "1", "record_shapes": "False", "unit": "steps"}
    words = [word for key, value in options.items() for word in (f"--profiling.{key}", value)]
    ended = start(tmp_path, "latent.py", "my_profiling_run", *words, "--training.epochs", "10")
    assert ended.out.startswith("['my_profiling_run', '--training.epochs', '10'] ")
    assert ended.steps() == ["ProfilerStep#3", "ProfilerStep#4"]
    assert not any("Input Dims" in event.get("args", {}) for event in ended.events())
    assert "recorded 2 steps;" in ended.notes[0]
    # Each step of the optimizer lies inside its step as a whole.
    spans: dict[str, list[tuple[float, float]]] = {"ProfilerStep": [], "Optimizer.step": []}
    for event in ended.events():
        if event["name"].split("#")[0] in spans and event.get("cat") == "user_annotation":
            spans[event["name"].split("#")[0]].append((event["ts"], event["ts"] + event["dur"]))
    assert len(spans["Optimizer.step"]) == 2
    for (begin, end), (inner_begin, inner_end) in zip(spans["ProfilerStep"], spans["Optimizer.step"], strict=True):
        assert begin < inner_begin < inner_end < end


def test_a_section_that_is_commented_out_switches_profiling_off(tmp_path: Path) -> None:
    write(tmp_path, "script.py", "import sys; print(sys.argv[1:])\n")
    write(tmp_path, "c.yaml", "".join(f"# {line}\n" for line in GUIDE_SECTION.splitlines()))
    ended = start(tmp_path, "--config", "c.yaml", "script.py", "x")
    assert (ended.code, ended.out) == (0, "['x']\n")
    assert ended.err.count("\n") == 1
    assert ended.notes[0].startswith("stepscope: profiling is off: c.yaml has no `profiling` section")
    assert ended.traces() == []


def test_the_calls_of_a_script_are_its_steps(tmp_path: Path) -> None:
    write(
        tmp_path,
        "script.py",
        "import stepscope.running, torch\nfor _ in range(4):\n    torch.ones(2) + 1\n    stepscope.running.step()\n"
        "raise SystemExit(7)\n",
    )
    ended = start(tmp_path, "--profiling.unit=steps", "--profiling.active=1", "script.py")
    assert ended.code == 7
    assert ended.steps() == ["ProfilerStep#2"]


def test_the_samples_of_a_step_are_in_the_trace(tmp_path: Path) -> None:
    write(
        tmp_path,
        "script.py",
        "import stepscope, torch\nfor size in (8, 16, 4):\n    torch.ones(size) + 1\n    stepscope.step(samples=size)\n",
    )
    ended = start(tmp_path, "--profiling.unit=steps", "--profiling.active=1", "script.py")
    (trace,) = ended.traces()
    assert json.loads(trace.read_text())["stepscope_samples_per_step"] == {"2": 4}


BUSY = """
import time, torch
torch.set_num_threads(1)
x, end = torch.ones(4), time.monotonic() + 2
while time.monotonic() < end:
    for _ in range(1000):
        x.sin()
"""


@pytest.mark.parametrize("options", [[], ["--profiling.wait=0", "--profiling.warmup=0"]])
@measures_time
def test_a_script_without_steps_is_recorded_up_to_the_cap(options: list[str], tmp_path: Path) -> None:
    write(tmp_path, "infer.py", BUSY + "torch.ones(2).cos()\nprint('done')\n")
    ended = start(tmp_path, *options, "--profiling.max_bytes=2MB", "infer.py")
    assert (ended.code, ended.out) == (0, "done\n")
    stopped, recorded = ended.notes
    assert re.search(r"stopped recording after \d+\.\d s without a step or an epoch.*--profiling\.max_bytes", stopped)
    assert re.search(r"recorded the first \d+\.\d s of the script as one step.*; for more, raise --profiling", recorded)
    assert ended.steps() == ["ProfilerStep#0"]
    names = {event["name"] for event in ended.events()}
    assert "aten::sin" in names and "aten::cos" not in names


def test_a_script_without_steps_that_records_little_is_recorded_whole(tmp_path: Path) -> None:
    write(tmp_path, "infer.py", "import time, torch\ntorch.ones(2).sin()\ntime.sleep(1)\ntorch.ones(2).cos()\n")
    ended = start(tmp_path, "--profiling.max_bytes=20MB", "infer.py")
    assert any(event["name"] == "aten::cos" for event in ended.events())
    assert len(ended.notes) == 1 and "recorded the whole script" in ended.notes[0]


@measures_time
def test_steps_that_come_after_the_cap_are_recorded_instead(tmp_path: Path) -> None:
    write(tmp_path, "train.py", BUSY + TRAINING)
    ended = start(tmp_path, "--profiling.max_bytes=2MB", "train.py")
    assert ended.steps() == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
    assert "stopped recording" in ended.notes[0] and "recorded 3 epochs;" in ended.notes[1]


@measures_time
def test_a_backward_pass_is_not_cut_in_the_middle(tmp_path: Path) -> None:
    # Torch restores what was switched on before a backward pass behind it, the profiler too.
    backward = """
class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, gradient):
        end = time.monotonic() + 1
        while time.monotonic() < end:
            for _ in range(1000):
                gradient.sin()
        return gradient
Slow.apply(torch.ones(2, requires_grad=True)).sum().backward()
torch.ones(2).cos()
with torch.profiler.profile() as own:
    torch.ones(2).tan()
print(sorted({row.key for row in own.key_averages()} & {"aten::sin", "aten::tan"}))
"""
    write(tmp_path, "infer.py", "import time, torch\n" + backward)
    ended = start(tmp_path, "--profiling.max_bytes=2MB", "infer.py")
    assert (ended.code, ended.out) == (0, "['aten::tan']\n"), ended.err


def test_a_module_runs_as_python_runs_it(tmp_path: Path) -> None:
    write(tmp_path, "package/__init__.py", "")
    write(tmp_path, "package/train.py", TRAINING + "print(__spec__.name, sys.argv[0], sys.path[0] == '')\n")
    ended = start(tmp_path, "--profiling.active=1", "-m", "package.train", "-m", "--lr", "0.1", "--profiling.wait=2")
    assert (ended.code, ended.out.splitlines()) == (
        0,
        [
            f"['-m', '--lr', '0.1'] __main__ {tmp_path}",
            f"package.train {tmp_path / 'package' / 'train.py'} False",
        ],
    )
    assert ended.steps() == ["ProfilerStep#3"]
    assert ended.traces()[0].relative_to(tmp_path / "runs").parts[0].startswith("train_")


@pytest.mark.parametrize(
    ("words", "said"),
    [(["-m"], "found no module, expected one after -m"), (["-m", "not.there"], "no such module\n  --> not.there")],
)
def test_a_module_that_is_not_there(words: list[str], said: str, tmp_path: Path) -> None:
    ended = start(tmp_path, *words)
    assert (ended.code, ended.out, ended.traces()) == (2, "", [])
    assert said in ended.err


def test_the_ranks_of_a_job_write_to_one_folder(tmp_path: Path) -> None:
    write(tmp_path, "train.py", TRAINING)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python"]
    command = [*launcher, sys.executable, "-c", RUN, "--profiling.active=1", "train.py"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), "OMP_NUM_THREADS": "1"}
    for jobs in (1, 2):
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=120)
        folders = list((tmp_path / "runs").glob("*/*/profiler_traces"))
        assert len(folders) == jobs, "the next job has a folder of its own"
    for folder in folders:
        assert sorted(path.name.split(".")[0] for path in folder.iterdir()) == ["rank0", "rank1"]


@pytest.mark.parametrize("options", [[], ["--profiling.wait=0", "--profiling.warmup=0"]])
def test_a_script_without_steps_is_one_step(options: list[str], tmp_path: Path) -> None:
    write(tmp_path, "infer.py", "import torch\ntorch.set_num_threads(1)\ntorch.ones(2).sin()\n")
    ended = start(tmp_path, *options, "infer.py")
    assert ended.code == 0
    assert ended.steps() == ["ProfilerStep#0"]
    assert any(event["name"] == "aten::sin" for event in ended.events())
    assert "recorded the whole script as one step" in ended.notes[0]
    assert len(ended.notes) == 1


def test_steps_without_epochs_are_recorded(tmp_path: Path) -> None:
    write(
        tmp_path,
        "train.py",
        "import torch\nparameter = torch.nn.Parameter(torch.ones(2))\nparameter.grad = torch.ones(2)\n"
        "optimizer = torch.optim.SGD([parameter], lr=0.1)\nfor _ in range(20):\n    optimizer.step()\n",
    )
    ended = start(tmp_path, "train.py")
    assert ended.steps() == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
    (note,) = ended.notes
    assert "recorded 3 steps instead of epochs: no DataLoader was read to its end; open with: " in note


def test_a_script_that_ends_too_early_says_what_to_change(tmp_path: Path) -> None:
    write(tmp_path, "train.py", TRAINING)
    ended = start(tmp_path, "train.py", "--profiling.wait", "20")
    assert ended.traces() == []
    assert ended.notes == [
        "stepscope: nothing recorded: the script ended after 6 epochs, and the schedule skips 21; "
        "lower --profiling.wait or --profiling.warmup"
    ]


def test_an_exception_keeps_its_traceback_and_what_was_recorded(tmp_path: Path) -> None:
    fail = "    if epoch == 3:\n        torch.ones(2).sin(); import time; time.sleep(0.01)\n"
    fail += "        raise KeyError('lost')\n    if 0:"
    failing = TRAINING.replace("    for x, y in validation:", fail)
    write(tmp_path, "runpython/train.py", failing)
    ended = start(tmp_path, "runpython/train.py")
    assert ended.code == 1
    line = failing.splitlines().index("        raise KeyError('lost')") + 1
    expected = (
        "Traceback (most recent call last):\n"
        f'  File "{tmp_path / "runpython" / "train.py"}", line {line}, in <module>\n'
        "    raise KeyError('lost')\nKeyError: 'lost'\n"
    )
    assert expected in ended.err
    # Epochs 2 and 3 ended; the last one that the schedule wanted had only begun.
    assert ended.steps() == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
    assert "recorded 2 epochs and a part of one;" in ended.notes[-1]
    (trace,) = ended.traces()
    assert json.loads(trace.read_text())["stepscope_incomplete_step"] == 4


def test_an_interrupt_ends_the_script_and_keeps_what_was_recorded(tmp_path: Path) -> None:
    write(
        tmp_path,
        "train.py",
        "import os, signal, time, torch\ntorch.ones(2).sin()\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n",
    )
    ended = start(tmp_path, "train.py")
    assert ended.code == 130
    assert "KeyboardInterrupt" in ended.err and "runpy" not in ended.err
    assert any(event["name"] == "aten::sin" for event in ended.events())


def test_a_profiler_of_the_script_has_the_right_of_way(tmp_path: Path) -> None:
    write(
        tmp_path,
        "own.py",
        "import torch\nwith torch.profiler.profile() as own:\n    torch.ones(2).sin()\n"
        "print(any(row.key == 'aten::sin' for row in own.key_averages()))\n",
    )
    ended = start(tmp_path, "own.py")
    assert (ended.code, ended.out) == (0, "True\n")
    assert "the script uses torch's profiler itself" in ended.notes[0]


@pytest.mark.parametrize(
    ("script", "code"),
    [("import sys; print(sys.argv[1:]); sys.exit(5)", 5), ("raise SystemExit('stop')", 1), ("1 +", 1), ("1 / 0", 1)],
)
def test_without_torch_the_script_runs_all_the_same(script: str, code: int, tmp_path: Path) -> None:
    write(tmp_path, "script.py", script + "\n")
    ended = start(tmp_path, "script.py", "--wait", code=WITHOUT_TORCH + RUN)
    assert ended.code == code
    why = "torch is not installed; for Python functions: stepscope run --cprofile"
    assert ended.notes == [f"stepscope: nothing will be recorded: {why}"]
    assert "stepscope/running" not in ended.err and "runpy" not in ended.err
    plain = subprocess.run(
        [sys.executable, "script.py", "--wait"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (ended.code, ended.out) == (plain.returncode, plain.stdout)
    assert ended.err.replace(ended.notes[0] + "\n", "") == plain.stderr


def test_a_script_that_never_imports_torch_is_told_so(tmp_path: Path) -> None:
    write(tmp_path, "script.py", "import importlib.util; print(importlib.util.find_spec('torch') is None)\n")
    ended = start(tmp_path, "script.py")
    assert (ended.code, ended.out) == (0, "False\n")
    assert ended.notes == ["stepscope: nothing recorded: the program did not import torch"]


def test_configure_records_the_program_that_calls_it(tmp_path: Path) -> None:
    call = "import stepscope.running as run\nsys.argv[1:] = run.configure(arguments=sys.argv[1:], wait=2, active=1)\n"
    write(tmp_path, "program.py", TRAINING.replace("import torch\n", f"import torch\n{call}", 1))
    code = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    ended = start(tmp_path, "program.py", "--profiling.warmup", "0", "--lr", "1", code=code)
    assert (ended.code, ended.out.split(" __main__")[0]) == (0, "['--lr', '1']")
    assert ended.steps() == ["ProfilerStep#2"]
    assert ended.traces()[0].relative_to(tmp_path / "runs").parts[0].startswith("program_")
    assert "recorded 1 epoch;" in ended.notes[0]
