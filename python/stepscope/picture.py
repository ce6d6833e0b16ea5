"""Pictures for notebooks."""

from __future__ import annotations

import os
from collections.abc import Sequence

__all__ = ["Picture"]


class Picture:
    """A picture that a notebook shows; `save` writes it as a separate HTML page."""

    def __init__(self, markup: str, inputs: Sequence[str | os.PathLike[str]] = ()) -> None:
        self._markup = markup
        self._inputs = list(inputs)

    def _repr_html_(self) -> str:
        return self._markup

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as one HTML file that needs no other file.

        Overwrites an existing file, but never a trace of the run.

        Args:
            path: File to write.

        Raises:
            OutputError: The file cannot be written; an existing one is unchanged.
        """
        from stepscope._native import write_output

        page = f"<!doctype html><meta charset='utf-8'><title>Stepscope</title>{self._markup}\n"
        write_output(path, page, self._inputs)

    def __repr__(self) -> str:
        return "<Picture: shown in a notebook; call save('timeline.html') to write it>"
