"""Rows of a query, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepscope.table import Table

if TYPE_CHECKING:
    from stepscope._native import NativeBatches

__all__ = ["Batches"]


class Batches:
    """Iterates over the rows of a query, one `Table` per batch. `Run.sql_batches` returns it.

    The query runs while you read, so a result of any size takes little memory. Read it once: in a loop, or through the
    Arrow PyCapsule interface, which takes the batches that are left.

    >>> for batch in run.sql_batches("SELECT * FROM spans"):      # doctest: +SKIP
    ...     print(len(batch), batch.columns)
    >>> pyarrow.RecordBatchReader.from_stream(run.sql_batches("SELECT * FROM spans"))   # doctest: +SKIP
    """

    def __init__(self, native: NativeBatches) -> None:
        self._native = native

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Table:
        table = self._native.next_batch()
        if table is None:
            raise StopIteration
        return Table(table)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Exports the batches that are left; other libraries call this."""
        return self._native.__arrow_c_stream__(requested_schema)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._native.column_names()

    @property
    def types(self) -> list[str]:
        """Types of the columns, as Arrow names them."""
        return self._native.column_types()

    def __repr__(self) -> str:
        return f"<Batches: {', '.join(self.columns)}>"
