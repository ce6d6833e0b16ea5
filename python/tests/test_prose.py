"""What answers say is for people: Python reads none of it, and what it says to ask next can be pasted."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

import stepscope as ss

PROSE = {"title", "evidence", "fix", "not_this", "show", "what", "why", "nulls"}


def reworded(value: Any, is_prose: bool = False) -> Any:
    """The same document with other words in all prose."""
    if isinstance(value, dict):
        return {name: reworded(member, is_prose or name in PROSE) for name, member in value.items()}
    if isinstance(value, list):
        return [reworded(member, is_prose) for member in value]
    return re.sub(r"\w", "z", value) if is_prose and isinstance(value, str) else value


class Reworded:
    """A native run or report that says everything in other words."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)

    def analyze(self, *arguments: Any) -> Reworded:
        return Reworded(self._native.analyze(*arguments))

    def shaped(self, *arguments: Any) -> Reworded:
        return Reworded(self._native.shaped(*arguments))

    def json(self) -> str:
        return json.dumps(reworded(json.loads(self._native.json())))

    def text(self, *arguments: Any) -> str:
        return re.sub(r"\w", "z", self._native.text(*arguments))

    def html(self) -> str:
        return re.sub(r"\w", "z", self._native.html())


def without_prose(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_prose(member) for name, member in value.items() if name not in PROSE}
    return [without_prose(member) for member in value] if isinstance(value, list) else value


@pytest.mark.parametrize("analysis", ["summary", "diagnose", "steps", "comms", "ops"])
def test_words_make_no_difference(demo: Path, analysis: str) -> None:
    run, other = ss.open(demo), ss.open(demo)
    other._native = Reworded(other._native)  # type: ignore[assignment]
    told, said = getattr(run, analysis)(), getattr(other, analysis)()
    assert said.to_dict() == reworded(told.to_dict())
    assert without_prose(said.to_dict()) == without_prose(told.to_dict())
    assert len(said) == len(told)
    assert len(said.pick(limit=1)) == min(1, len(told))
    assert str(said) != str(told)
    assert said._repr_html_() != told._repr_html_()
    assert repr(other) == repr(run)
    number = run.steps().to_dict()["rows"][0]["step_number"]
    assert other.timeline(step=number)._repr_html_() == run.timeline(step=number)._repr_html_()


@pytest.mark.parametrize("name", ["a run", "it's", 'say "run"', "$HOME;x", "plain"])
def test_commands_to_ask_next_can_be_pasted(demo: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    shutil.copytree(demo, folder)
    run = ss.open(folder)
    shown = [line for row in run.diagnose().to_dict()["rows"] for line in row["show"].splitlines()]
    said = str(run.summary()).splitlines()
    told = [line[line.index("stepscope ") :] for line in said if "stepscope " in line and str(tmp_path) in line]
    assert shown and told
    for command in shown + told:
        words = shlex.split(command)
        assert words[0] == "stepscope"
        assert str(folder) in words, command
