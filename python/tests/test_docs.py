"""The code of the documents, run as their readers would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


DOCUMENTS = (
    "README.md",
    "docs/python.md",
    "docs/tutorial.md",
    "docs/recipes.md",
    "docs/comparing.md",
    *sorted(f"docs/profiler/{page.name}" for page in (ROOT / "docs" / "profiler").glob("*.md")),
)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_blocks_run(name: str, demo: Path, tmp_path: Path) -> None:
    """One after the other, as somebody who reads from the top has them."""
    blocks = BLOCK.findall((ROOT / name).read_text())
    assert blocks, f"{name} has no block of Python"
    (tmp_path / "demo-run").symlink_to(demo)
    script = tmp_path / "document.py"
    script.write_text("import torch\ntorch.set_num_threads(1)\n" + "\n".join(blocks))
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    said = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert said.returncode == 0, said.stderr[-2000:]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_blocks_compile(page: Path) -> None:
    """Also those that need another package or a device; `…` is what the reader has there."""
    for block in BLOCK.findall(page.read_text()):
        compile(block.replace("…", "..."), page.name, "exec")


def test_the_config_of_the_recipes_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "recipes.md").read_text()
    config = re.search(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert config
    (tmp_path / "my_profiling_run.yaml").write_text(config.group(1))
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "model = torch.nn.Linear(8, 2)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for _ in range(8):\n"
        "    model(torch.randn(4, 8)).sum().backward()\n"
        "    optimizer.step()\n"
    )
    commands = re.search(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert commands
    for line in commands.group(1).splitlines():
        command = [sys.executable, "-m", *line.split()]
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert said.returncode == 0 and "stepscope open" in said.stderr, said.stderr
    assert len(list(tmp_path.glob("runs/*/*/profiler_traces/*.pt.trace.json*"))) == 2


def test_the_commands_of_the_recording_run(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "profiler" / "recording.md").read_text()
    blocks = {kind: re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) for kind in ("python", "sh")}
    (tmp_path / "record.py").write_text("".join(blocks["python"]))
    commands = "python record.py\n" + "".join(blocks["sh"])
    assert commands.count("stepscope ") > 3
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-euo", "pipefail", "-c", commands]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert said.returncode == 0, said.stderr
    assert "loading" in said.stdout and "process_rss_bytes" in said.stdout
    assert (tmp_path / "recordings.html").exists()


def test_the_index_of_the_profiler_names_every_page() -> None:
    folder = ROOT / "docs" / "profiler"
    index = (folder / "README.md").read_text()
    for page in sorted(folder.glob("*.md")):
        assert page.name == "README.md" or f"({page.name})" in index, f"{page.name} is not in the index"


def test_the_reference_is_what_the_docstrings_say() -> None:
    """`python python/tests/reference.py` writes it anew."""
    import reference

    assert reference.PAGE.read_text(encoding="utf-8") == reference.page()


def test_every_public_name_is_documented() -> None:
    import stepscope as ss

    for name in ss.__all__:
        assert getattr(ss, name).__doc__, name


README = (ROOT / "README.md").read_text()
WORDS = re.compile(r"yes|partly|no(?! known)|not known|planned")


def feature_rows(document: str) -> dict[str, list[str]]:
    """The first word of each cell, for the rows that compare Stepscope with seven tools."""
    rows: dict[str, list[str]] = {}
    for line in document.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 9 and cells[0]:
            words = [WORDS.match(re.sub(r"^\[", "", cell)) for cell in cells[1:]]
            rows[cells[0]] = [word.group() if word else "" for word in words]
    return rows


def test_the_readme_compares_as_the_page_with_the_sources() -> None:
    sourced = feature_rows((ROOT / "docs" / "compare.md").read_text())
    shown = feature_rows(README)
    assert len(shown) >= 8
    for row, words in shown.items():
        assert all(words) and words == sourced[row], row


def test_every_cell_of_another_tool_has_a_source() -> None:
    document = (ROOT / "docs" / "compare.md").read_text()
    notes = set(re.findall(r"^\[\^(\d+)\]: .*\]\(https://", document, re.MULTILINE))
    rows = [line for line in document.splitlines() if re.match(r"\| [^|]", line) and line.count(" | ") == 8]
    assert len(rows) > 20 and len(notes) > 50
    for row in rows:
        for cell in row.strip("|").split(" | ")[2:]:
            cited = re.findall(r"\[\^(\d+)\]", cell)
            assert cell.strip() == "not known" or cited, f"no source: {row[:60]}: {cell}"
            assert set(cited) <= notes, f"a note without an address: {cited}"


def test_the_readme_is_short_and_shows_a_picture_first() -> None:
    prose = re.sub(r"```.*?```|<!--.*?-->", "", README, flags=re.DOTALL)
    words = [word for word in prose.split() if re.search(r"\w", word)]
    assert len(words) <= 1100
    assert any("docs/pictures/" in line for line in README.splitlines()[:12])
    for picture in re.findall(r"docs/pictures/[\w.-]+", README):
        assert (ROOT / picture).is_file(), picture
