"""Writes docs/python-reference.md from the docstrings: python python/tests/reference.py"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

from stepscope.analyses import Analyses

PAGE = Path(__file__).parents[2] / "docs" / "python-reference.md"
MODULES = (
    "stepscope",
    "stepscope.lines",
    "stepscope.torch",
    "stepscope.tensorflow",
    "stepscope.jax",
    "stepscope.performance",
    "stepscope.errors",
)
HEAD = """\
# Python reference

Every public name, from its docstring. Written by `python/tests/reference.py`; do not edit it here.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(section(import_module(name)) for name in MODULES)])


def section(module: Any) -> str:
    lines = [f"## {module.__name__}", "", text(module), ""]
    for name in sorted(module.__all__):
        value = getattr(module, name)
        home = getattr(value, "__module__", "") or ""
        # What belongs to another library, or has a section of its own.
        if inspect.ismodule(value) or not home.startswith("stepscope"):
            continue
        if module.__name__ == "stepscope" and home.startswith("stepscope.performance"):
            continue
        lines += entry("###", f"{module.__name__}.{name}", value)
    return "\n".join(lines)


def entry(level: str, name: str, value: Any) -> list[str]:
    lines = [f"{level} `{name}{signature(value)}`", "", text(value), ""]
    if inspect.isclass(value):
        # What it has from the generated class is its own to people.
        members = {**(vars(Analyses) if issubclass(value, Analyses) else {}), **vars(value)}
        for member, found in sorted(members.items()):
            is_public = not member.startswith("_") and (inspect.isfunction(found) or isinstance(found, property))
            if is_public and found.__doc__:
                lines += entry("####", f"{value.__name__}.{member}", found)
    return lines


def signature(value: Any) -> str:
    if isinstance(value, property) or not callable(value):
        return ""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return ""
    try:
        # Annotations are texts until somebody asks for them.
        return str(inspect.signature(value)).replace("self, ", "").replace("(self)", "()").replace("'", "")
    except (TypeError, ValueError):
        return "(…)"


def text(value: Any) -> str:
    """A docstring as Markdown: examples become blocks."""
    lines, is_code = [], False
    for line in (inspect.getdoc(value) or "").splitlines():
        begins = line.startswith((">>>", "..."))
        if begins and not is_code:
            lines.append("```pycon")
        if is_code and not begins and line == "":
            lines.append("```")
        is_code = begins or (is_code and line != "")
        lines.append(line.replace("  # doctest: +SKIP", "").rstrip())
    return "\n".join([*lines, "```"] if is_code else lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
