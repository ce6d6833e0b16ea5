"""Pictures for notebooks."""

from __future__ import annotations

import os
from collections.abc import Sequence

__all__ = ["Picture"]


class Picture:
    """A picture that a notebook shows; `save` writes it as a page of its own."""

    def __init__(self, markup: str, inputs: Sequence[str | os.PathLike[str]] = ()) -> None:
        self._markup = markup
        self._inputs = list(inputs)

    def _repr_html_(self) -> str:
        return self._markup

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture as an HTML file that needs nothing else. Overwrites an existing file, but no trace of the run.

        Raises:
            OutputError: The file cannot be written; an existing one is unchanged.
        """
        from stepscope._native import write_output

        page = f"<!doctype html><meta charset='utf-8'><title>Stepscope</title>{self._markup}\n"
        write_output(path, page, self._inputs)

    def __repr__(self) -> str:
        return "<Picture: a notebook shows it, save('timeline.html') writes it>"
