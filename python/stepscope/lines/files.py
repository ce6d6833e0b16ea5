"""Chooses the files to record: those that are named, or by default those of the user."""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Iterable
from fnmatch import fnmatchcase
from types import CodeType

#: They run as part of their line; from Python 3.12 on, most of them are not functions any more.
_PARTS_OF_A_LINE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")

#: Code typed at a prompt: it has no file, but its source is known.
_TYPED = ("<doctest ", "<ipython-input-", "<python-input-")

_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


class Files:
    """Selects files by patterns: a path, a folder with all its files, or a glob.

    Without patterns, selects every file outside the standard library and the installed packages.

    >>> Files(["src", "*/trainer.py"]).holds("/usr/lib/python3/site-packages/transformers/trainer.py")
    True
    >>> Files(None).holds(os.__file__)
    False
    """

    def __init__(self, patterns: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] | None) -> None:
        self._patterns: list[str] | None = None
        if patterns is not None:
            # A text is no list of its letters.
            several = [patterns] if isinstance(patterns, (str, os.PathLike)) else patterns
            texts = [os.fspath(pattern) for pattern in several]
            self._patterns = [form for text in texts for form in (text, os.path.abspath(text), os.path.realpath(text))]
        self._decisions: dict[str, bool] = {}

    def holds(self, file: str) -> bool:
        """Returns whether to record the lines of a file."""
        decision = self._decisions.get(file)
        if decision is None:
            decision = self._decisions[file] = self._decide(file)
        return decision

    def _decide(self, file: str) -> bool:
        is_typed = file.startswith(_TYPED)
        if file.startswith("<") and not is_typed:
            return False
        forms = [file] if is_typed else [os.path.abspath(file), os.path.realpath(file)]
        if self._patterns is None:
            return is_typed or not any(_is_installed(form) for form in forms)
        return any(_matches(form, pattern) for form in forms for pattern in self._patterns)


def has_lines_of_its_own(code: CodeType) -> bool:
    """Returns whether code is more than part of a line."""
    return code.co_name not in _PARTS_OF_A_LINE


def _matches(file: str, pattern: str) -> bool:
    return fnmatchcase(file, pattern) or file.startswith(pattern.rstrip(os.sep) + os.sep)


def _is_installed(file: str) -> bool:
    folders = file.split(os.sep)
    return "site-packages" in folders or "dist-packages" in folders or file.startswith(_INSTALLED)


def _installed_folders() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += [site.getusersitepackages(), _OWN_FOLDER]
    return tuple({form + os.sep for path in paths for form in (os.path.abspath(path), os.path.realpath(path))})


_INSTALLED = _installed_folders()
