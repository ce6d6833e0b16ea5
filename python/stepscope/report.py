"""The result of an analysis: a table with its title and notes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from stepscope.table import Table
from stepscope.values import optional, strings, whole_number

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from stepscope._native import NativeReport

__all__ = ["Report"]


class Report:
    """Holds the result of an analysis.

    It prints as the command does, and a notebook shows it with its charts. Convert its rows with `to_pandas()`,
    `to_polars()` or `to_arrow()`, or pass it to any library that reads the Arrow PyCapsule interface.
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
        """Returns a report with other columns, another order or another number of rows.

        Args:
            columns: Columns to keep, as a list or separated by commas; all columns by default.
            sort: Column to sort by; a leading `-` reverses the order.
            limit: Number of rows; 0 is all. Without it, the data has all rows and the print as many as the command.
        """
        rows = optional(whole_number, "limit", limit)
        return Report(self._native.shaped(strings("columns", columns), sort, rows))

    @property
    def table(self) -> Table:
        """The main table."""
        return Table(self._native.table())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Exports the main table; other libraries call this."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.table)

    def to_arrow(self) -> pyarrow.Table:
        """Returns the main table as a `pyarrow.Table`, without copying it."""
        return self.table.to_arrow()

    def to_polars(self) -> polars.DataFrame:
        """Returns the main table as a `polars.DataFrame`."""
        return self.table.to_polars()

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the main table as a `pandas.DataFrame`; copies the data."""
        return self.table.to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole report as a dictionary, as `stepscope … -f json` writes it."""
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
