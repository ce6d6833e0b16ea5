"""Columns of a result, ready for pyarrow, polars and pandas."""

from __future__ import annotations

import json
from importlib import import_module
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from stepscope.errors import MissingPackageError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from stepscope._native import NativeTable

__all__ = ["Table"]

_SHOWN_ROWS = 20


class Table:
    """Holds rows and columns in Arrow memory.

    Libraries that read the Arrow PyCapsule interface take it directly: `polars.DataFrame(table)`,
    `pyarrow.table(table)`, `duckdb.sql("SELECT * FROM table")`.
    """

    def __init__(self, native: NativeTable) -> None:
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Exports the columns; other libraries call this."""
        return self._native.__arrow_c_stream__(requested_schema)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._native.column_names()

    @property
    def types(self) -> list[str]:
        """Types of the columns, as Arrow names them."""
        return self._native.column_types()

    def __len__(self) -> int:
        return len(self._native)

    def to_arrow(self) -> pyarrow.Table:
        """Returns the columns as a `pyarrow.Table`, without copying them."""
        return _package("pyarrow").table(self)

    def to_polars(self) -> polars.DataFrame:
        """Returns the columns as a `polars.DataFrame`."""
        frame: polars.DataFrame = _package("polars").DataFrame(self)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the columns as a `pandas.DataFrame`; needs pyarrow and copies the data."""
        _package("pandas")
        return self.to_arrow().to_pandas()

    def to_pylist(self) -> list[dict[str, Any]]:
        """Returns the rows as dictionaries. Needs no other library; suits small tables."""
        rows: list[dict[str, Any]] = json.loads(self._native.json())["rows"]
        return rows

    def __repr__(self) -> str:
        return self._native.text(_SHOWN_ROWS, get_terminal_size().columns).rstrip("\n")

    def _repr_html_(self) -> str:
        return self._native.html(_SHOWN_ROWS)


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        hint = f"pip install {name}"
        raise MissingPackageError(f"{name} is not installed", None, hint) from error
