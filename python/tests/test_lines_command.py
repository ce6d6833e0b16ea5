"""`stepscope lines`: what it prints and writes, and how scripts end under it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import stepscope.lines
from stepscope.lines.recording import Counts, Figures, Place
from stepscope.lines.result import LineProfile, profile_of

pytestmark = pytest.mark.measures_time

ROOT = Path(__file__).parents[2]
PACKAGE_ROOT = Path(stepscope.lines.__file__).parents[2]

SCRIPT = """\
import sys


def squares(count):
    total = 0
    for number in range(count):
        total += number * number
    if total < 0:
        total = 0
    return total


print(squares(10), sys.argv[1:], __name__)
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")])}


def lines(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stepscope", "lines", *arguments]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=60)


def hits(document: str) -> dict[tuple[str, int], int]:
    return {(row["function"], row["line_number"]): row["hits"] for row in json.loads(document)["rows"]}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def profile_by_hand(file: Path, unit_ns: int = 1_000) -> LineProfile:
    figures = {5: Figures(1, 250, 0, 32), 6: Figures(11, 2_200), 7: Figures(10, 7_000, 5 << 20, -(3 << 19))}
    figures |= {8: Figures(1, 300), 10: Figures(1, 250)}
    counts = Counts(total_ns=12_000 * unit_ns)
    for line, found in figures.items():
        counts.figures[Place(str(file), 4, "squares", True, line)] = found._replace(time_ns=found.time_ns * unit_ns)
    for line, time_ns in ((1, 1_500), (13, 10_500)):
        counts.figures[Place(str(file), 1, "<module>", False, line)] = Figures(1, time_ns * unit_ns)
    return profile_of(counts, {}, [])


def test_the_table(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(script.parent)
    assert profile_by_hand(script).to_text() == (
        "<module>  script.py:1 · 12.00 ms\n"
        "line  hits      time   per hit   share  process growth  python growth  source\n"
        "   1     1   1.50 ms   1.50 ms  12.5 %             0 B            0 B  import sys\n"
        "   ⋯\n"
        "  13     1  10.50 ms  10.50 ms  87.5 %             0 B            0 B  "
        "print(squares(10), sys.argv[1:], __name__)\n"
        "\n"
        "squares  script.py:4 · 10.00 ms\n"
        "line  hits     time    per hit   share  process growth  python growth  source\n"
        "   4                                                                   def squares(count):\n"
        "   5     1  0.25 ms  250.00 µs   2.5 %        0.00 MiB       0.00 MiB      total = 0\n"
        "   6    11  2.20 ms  200.00 µs  22.0 %        0.00 MiB       0.00 MiB      for number in range(count):\n"
        "   7    10  7.00 ms  700.00 µs  70.0 %        5.00 MiB      −1.50 MiB          total += number * number\n"
        "   8     1  0.30 ms  300.00 µs   3.0 %        0.00 MiB       0.00 MiB      if total < 0:\n"
        "   9                                                                           total = 0\n"
        "  10     1  0.25 ms  250.00 µs   2.5 %        0.00 MiB       0.00 MiB      return total\n"
        "\n"
        "7 lines of 2 functions in 1 file ran for 12.00 ms; the time of a line includes the calls it makes\n"
    )


def test_one_long_line_does_not_hide_the_others(script: Path) -> None:
    """Beside an import of seconds, steps of microseconds would all be 0.00 s."""
    counts = Counts(total_ns=4_000_000_000)
    for line, time_ns in ((1, 3_830_000_000), (5, 2_000_000), (6, 700_000), (7, 350_000), (8, 0)):
        counts.figures[Place(str(script), 1, "<module>", False, line)] = Figures(1, time_ns)
    text = profile_of(counts, {}, []).to_text()
    assert re.findall(r" +1 +([\d,.]+ \w+)", text) == ["3,830.00 ms", "2.00 ms", "0.70 ms", "0.35 ms", "0.00 ms"]


def test_a_terminal_has_colors_and_a_width(script: Path) -> None:
    text = profile_by_hand(script).to_text(width=60, has_color=True, limit=1)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert "\x1b[1;31m" in text and "\x1b" not in profile_by_hand(script).to_text()
    table = plain.split("\n\n")[0].splitlines()[2:]
    assert max(len(line) for line in table) == 60 and any(line.endswith("…") for line in table)
    assert "1 of 2 functions shown (--limit 0 shows all)" in plain


def test_source_cannot_talk_to_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text("x = '\x1b[2J'\n")
    counts = Counts(total_ns=1)
    counts.figures[Place(str(file), 1, "<module>", False, 1)] = Figures(1, 1)
    profile = profile_of(counts, {}, [])
    assert "\x1b" not in profile.to_text()


def test_a_notebook_shows_bars_and_escapes_source(script: Path) -> None:
    html = profile_by_hand(script)._repr_html_()
    assert "&lt;module&gt;" in html and "if total &lt; 0:" in html and "70.0%" in html
    assert html.count("<table>") == 2


def test_table_behind_what_the_script_prints(script: Path) -> None:
    said = lines(script.parent, "script.py", "--lr", "0.1", "-f")
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("285 ['--lr', '0.1', '-f'] __main__\n")
    assert re.search(r"^ +7 +10 .*%      +total \+= number \* number$", said.stdout, re.MULTILINE)
    assert "\x1b" not in said.stdout and said.stderr == ""


def test_json(script: Path) -> None:
    said = lines(script.parent, "-f", "json", "-o", "lines.json", "script.py", "one")
    assert (said.returncode, said.stdout) == (0, "285 ['one'] __main__\n")
    assert said.stderr == "stepscope: wrote lines.json\n"
    document = json.loads((script.parent / "lines.json").read_text())
    assert list(document)[:2] == ["schema", "stepscope"] and document["schema"] == "stepscope.lines/1"
    assert document["run"]["program"] == [str(script), "one"]
    assert hits((script.parent / "lines.json").read_text()) == {
        ("<module>", 1): 1, ("<module>", 4): 1, ("<module>", 13): 1, ("squares", 5): 1, ("squares", 6): 11,
        ("squares", 7): 10, ("squares", 8): 1, ("squares", 10): 1,
    }  # fmt: skip
    (row,) = [row for row in document["rows"] if row["line_number"] == 7]
    assert row["file"] == str(script) and row["code"] == "total += number * number"
    assert row["per_hit_ns"] == round(row["time_ns"] / 10) and row["memory_growth_bytes"] is None
    assert "rows[].memory_growth_bytes" in document["nulls"]


def test_csv_and_memory(tmp_path: Path) -> None:
    (tmp_path / "hungry.py").write_text("small = 1\nlarge = bytearray(b'1' * 10_000_000)\n")
    said = lines(tmp_path, "--memory", "-f", "csv", "hungry.py")
    rows = {row["code"].split()[0]: row for row in csv.DictReader(io.StringIO(said.stdout))}
    assert int(rows["large"]["python_growth_bytes"]) == pytest.approx(10_000_000, rel=0.01)
    assert abs(int(rows["small"]["python_growth_bytes"])) < 100_000
    if sys.platform == "linux":
        assert int(rows["large"]["memory_growth_bytes"]) == pytest.approx(10_000_000, rel=0.2)


def test_a_module_and_the_files_asked_for(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "used.py").write_text("def use():\n    return 1\n")
    tool = "import sys\nfrom package.used import use\nprint(use(), sys.argv[1:])\n"
    (tmp_path / "package" / "tool.py").write_text(tool)
    options = ("--files", "package/used.py", "-f", "json", "-o", "out.json")
    said = lines(tmp_path, *options, "-m", "package.tool", "-o", "x")
    assert said.stdout == "1 ['-o', 'x']\n", said.stderr
    assert hits((tmp_path / "out.json").read_text()) == {("<module>", 1): 1, ("use", 2): 1}


def test_nothing_recorded_is_said(script: Path) -> None:
    said = lines(script.parent, "--files", "other.py", "script.py")
    assert (said.returncode, said.stdout) == (0, "285 [] __main__\n")
    assert said.stderr.startswith("stepscope: nothing recorded: ") and "--files" in said.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "found no script, expected one"),
        (("missing.py",), "no such script\n  --> missing.py\nhint: "),
        (("-m", "missing_module"), "no such module\n  --> missing_module\nhint: "),
        (("-m",), "found no module, expected one after -m"),
        (("--filse", "a.py", "script.py"), "unknown option `--filse`"),
        (("-f", "xml", "script.py"), "invalid choice: 'xml'"),
        (("-o", ".", "script.py"), "--output: expected a file, found a folder\n  --> .\nhint: "),
        (("--limit", "-1", "script.py"), "--limit: expected 0 or more, found -1"),
        (("-o", "no/such/folder.json", "script.py"), "no such folder\n  --> no/such\nhint: "),
    ],
)
def test_wrong_usage(script: Path, arguments: tuple[str, ...], problem: str) -> None:
    said = lines(script.parent, *arguments)
    assert said.returncode == 2 and said.stdout == ""
    assert said.stderr.startswith("error: ") and problem in said.stderr


def test_a_script_that_raises_has_its_traceback_and_its_lines(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def fail():\n    raise KeyError('gone')\n\n\nfail()\n")
    said = lines(tmp_path, "-f", "json", "bad.py")
    bare = subprocess.run([sys.executable, str(tmp_path / "bad.py")], cwd=tmp_path, capture_output=True, text=True)
    assert (said.returncode, said.stderr) == (1, bare.stderr)
    assert hits(said.stdout) == {("<module>", 1): 1, ("<module>", 5): 1, ("fail", 2): 1}


@pytest.mark.parametrize(("word", "code"), [("3", 3), ("", 0), ("'no'", 1)])
def test_the_exit_code_is_passed_on(tmp_path: Path, word: str, code: int) -> None:
    (tmp_path / "leave.py").write_text(f"import sys\nsys.exit({word})\n")
    said = lines(tmp_path, "-f", "json", "leave.py")
    assert said.returncode == code
    assert hits(said.stdout) == {("<module>", 1): 1, ("<module>", 2): 1}


def test_threads_are_waited_for(tmp_path: Path) -> None:
    (tmp_path / "threads.py").write_text(
        "import threading, time\n"
        "def work():\n"
        "    time.sleep(0.3)\n"
        "    print('done')\n"
        "threading.Thread(target=work).start()\n"
    )
    said = lines(tmp_path, "-f", "csv", "threads.py")
    assert said.stdout.startswith("done\n") and "print('done')" in said.stdout


def test_ctrl_c_shows_what_was_recorded(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("import time\nprint('ready', flush=True)\nwhile True:\n    time.sleep(0.01)\n")
    child = subprocess.Popen(
        [sys.executable, "-m", "stepscope", "lines", "-f", "json", "-o", "out.json", "long.py"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background ignores the signal, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert child.stdout is not None and child.stderr is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=30) == 130
    assert "KeyboardInterrupt" in child.stderr.read()
    assert hits((tmp_path / "out.json").read_text())[("<module>", 4)] > 1


def test_the_commands_and_code_of_the_document_run(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "lines.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|bash)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (program, *scripts) = [block for language, block in blocks if language == "python"]
    (tmp_path / "train.py").write_text(program)
    commands = [line for language, block in blocks if language == "bash" for line in block.splitlines()]
    assert len(commands) > 3 and scripts
    for line in commands:
        assert line.startswith("stepscope lines ")
        shell = line.replace("stepscope", f"{sys.executable} -m stepscope", 1)
        said = subprocess.run(shell, cwd=tmp_path, env=environment(), shell=True, capture_output=True, text=True)
        assert said.returncode == 0 and "nothing recorded" not in said.stderr, f"{line}\n{said.stderr}"
    for code in scripts:
        command = [sys.executable, "-c", code]
        said = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
        assert said.returncode == 0 and said.stdout, said.stderr
