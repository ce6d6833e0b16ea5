"""An answer: a table with the words around it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from stepscope.table import Table
from stepscope.values import optional, texts, whole_number

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from stepscope._native import NativeReport

__all__ = ["Report"]


class Report:
    """What an analysis says.

    It prints as the terminal shows it, and a notebook shows it with its pictures. Its rows are columns for other
    libraries: `to_pandas()`, `to_polars()`, `to_arrow()`, or anything that takes the Arrow PyCapsule interface.
    """

    def __init__(self, native: NativeReport) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Name of the analysis."""
        return self._native.name

    def pick(
        self, columns: str | Iterable[str] = (), *, sort: str | None = None, limit: int | None = None
    ) -> Report:
        """The same with these columns, sorted by one (a leading `-` reverses), and so many rows; 0 is all.

        Without a limit it prints as many rows as the command shows, and its data has all.
        """
        rows = optional(whole_number, "limit", limit)
        return Report(self._native.shaped(texts("columns", columns), sort, rows))

    @property
    def table(self) -> Table:
        """The main table."""
        return Table(self._native.table())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hands the main table over; other libraries call this."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.table)

    def to_arrow(self) -> pyarrow.Table:
        """The main table as a `pyarrow.Table`, not copied."""
        return self.table.to_arrow()

    def to_polars(self) -> polars.DataFrame:
        """The main table as a `polars.DataFrame`."""
        return self.table.to_polars()

    def to_pandas(self) -> pandas.DataFrame:
        """The main table as a `pandas.DataFrame`."""
        return self.table.to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """Everything, as `stepscope … -f json` writes it."""
        document: dict[str, Any] = json.loads(self._native.json())
        return document

    def __str__(self) -> str:
        return self._native.text(get_terminal_size().columns, _has_color()).rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._native.html()


def _has_color() -> bool:
    import os

    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
