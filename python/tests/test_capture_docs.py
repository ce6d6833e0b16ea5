"""The code of the pages about TensorFlow, Keras and JAX, run as their readers would."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

for package in ("tensorflow", "keras", "jax"):
    pytest.importorskip(package)

from frameworks import run_script, steps_of, traces  # noqa: E402

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "steps"),
    [
        ("tensorflow.md", {"keras": 5, "loop": 10, "calls": 20}),
        ("jax.md", {"jax": 10, "options": 1}),
    ],
)
def test_blocks_run(page: str, steps: dict[str, int], tmp_path: Path) -> None:
    text = (DOCS / page).read_text()
    ended = run_script(tmp_path, "\n".join(BLOCK.findall(text)))
    assert ended.code == 0, ended.err
    recorded = {name: len(steps_of(traces(tmp_path / "logs" / name)[0])) for name in steps}
    assert recorded == steps
    shown = re.search(r"It prints `stepscope: (.*?, )[\d.]+ kB (in .*?)`", text)
    assert shown and ended.notes[0].startswith(shown[1]) and shown[2] in ended.notes[0]
