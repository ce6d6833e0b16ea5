"""Pictures for notebooks."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["Picture"]


class Picture:
    """A picture that a notebook shows; `save` writes it as a page of its own."""

    def __init__(self, markup: str) -> None:
        self._markup = markup

    def _repr_html_(self) -> str:
        return self._markup

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as an HTML file that needs nothing else."""
        page = f"<!doctype html><meta charset='utf-8'><title>Stepscope</title>{self._markup}\n"
        Path(path).write_text(page, encoding="utf-8")

    def __repr__(self) -> str:
        return "<Picture: a notebook shows it, save('timeline.html') writes it>"
