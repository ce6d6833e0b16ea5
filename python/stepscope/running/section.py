"""Reads the `profiling:` section of a YAML file, and nothing else of it: the rest belongs to the user.

The section is simple by design, so no YAML library is needed. Anything but a key and a plain value is refused, with
its line, rather than guessed at.
"""

from __future__ import annotations

import re
from pathlib import Path

from stepscope.errors import UsageError

from .settings import Entry

_SECTION = re.compile(r"""(['"]?)profiling\1[ \t]*:(?=\s|$)(?P<rest>.*)""")
_PAIR = re.compile(r"""(['"]?)(?P<key>[^\s'":{}\[\],#&*!|>%@`-][^\s'":{}\[\],]*)\1[ \t]*:(?:[ \t]+(?P<value>.*))?""")
_QUOTED = re.compile(r"""'(?P<single>[^']*)'|"(?P<double>[^"\\]*)\"""")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")

_SIMPLE = "write one `key: value` per line, for example `active: 3`"


def read_section(path: Path, option: str = "--config") -> list[Entry] | None:
    """Returns the entries of the top-level `profiling:` section; `None` if the file has none, or an empty one.

    `option` is the option that named the file.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"cannot read the config: {reason}", str(path), f"pass a YAML file with {option}") from error
    starts = [(number, match) for number, line in enumerate(lines, 1) if (match := _SECTION.match(line))]
    if not starts:
        return None
    if len(starts) > 1:
        message = "found two `profiling` sections, expected one"
        raise UsageError(message, f"{path}, line {starts[1][0]}", "keep one of the two")
    number, match = starts[0]
    rest = _without_comment(match["rest"])
    if rest.startswith("{"):
        return _flow_entries(rest, f"{path}, line {number}")
    if rest and rest not in ("null", "~"):
        problem = f"profiling: expected keys, found `{rest}`"
        raise UsageError(problem, f"{path}, line {number}", f"{_SIMPLE}; comment it out to turn profiling off")
    entries = _block_entries(lines[number:], path, number + 1)
    return entries or None


def _block_entries(lines: list[str], path: Path, first_number: int) -> list[Entry]:
    entries: list[Entry] = []
    indent = ""
    for number, line in enumerate(lines, first_number):
        text = _without_comment(line)
        if not text:
            continue
        margin = line[: len(line) - len(line.lstrip())]
        place = f"{path}, line {number}"
        if not margin and not text.startswith("- "):
            break
        if "\t" in margin:
            raise UsageError("found a tab before a key in profiling, expected spaces", place, "indent with spaces")
        indent = indent or margin
        if margin != indent:
            problem = f"`{text}` is indented differently from the keys above it in profiling"
            raise UsageError(problem, place, f"{_SIMPLE}, all with the same indent")
        _add(entries, text, place)
    return entries


def _flow_entries(text: str, place: str) -> list[Entry]:
    if not text.endswith("}"):
        raise UsageError("profiling: expected a closing brace on the same line", place, _SIMPLE)
    entries: list[Entry] = []
    parts = [part.strip() for part in text[1:-1].split(",")]
    if parts[-1] == "":  # YAML allows a comma at the end, and nothing at all.
        parts.pop()
    for part in parts:
        _add(entries, part, place)
    return entries


def _add(entries: list[Entry], text: str, place: str) -> None:
    pair = _PAIR.fullmatch(text)
    if not pair:
        raise UsageError(f"cannot read `{text}` in profiling", place, _SIMPLE)
    key, value = pair["key"], (pair["value"] or "").strip()
    if not value:
        problem = f"`{key}` in profiling: expected a value, found none"
        raise UsageError(problem, place, f"{_SIMPLE}; comment the line out to use the default")
    quoted = _QUOTED.fullmatch(value)
    if not quoted and value[0] in "&*!|>[]{}%@`'\"?-" and not re.match(r"-[0-9.]", value):
        raise UsageError(f"`{key}` in profiling: expected a plain value, found `{value}`", place, _SIMPLE)
    if any(entry.key == key for entry in entries):
        raise UsageError(f"found `{key}` twice in profiling, expected once", place, "keep one of the two")
    text_value = (quoted["single"] or quoted["double"] or "") if quoted else value
    entries.append(Entry(key, text_value, place, is_quoted=quoted is not None))


def _without_comment(text: str) -> str:
    # No value that is allowed here holds a `#`, so one behind a space always begins a comment.
    return _COMMENT.sub("", text).strip()
