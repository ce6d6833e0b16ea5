"""The rows of `key_averages()` and their table, with the column names of old and new versions of torch."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from stepscope.torch.untyped import TorchAverageRow, TorchEventList

_FIGURES = ("{}_time", "{}_time_total", "self_{}_time_total", "{}_memory_usage", "self_{}_memory_usage")
SORT_NAMES = ("count", "flops", *(figure.format(place) for place in ("cpu", "device", "cuda") for figure in _FIGURES))


def other_name(name: str) -> str:
    """Returns the name of the same metric before (`cuda_…`) or after (`device_…`) torch renamed it."""
    return name.replace("cuda", "device") if "cuda" in name else name.replace("device", "cuda")


class AverageRow(TorchAverageRow):
    """One row of torch's `key_averages()`, where `cuda_time_total` and `device_time_total` both work."""

    if TYPE_CHECKING:
        key: str
        count: int
        cpu_time: float
        cpu_time_total: float
        self_cpu_time_total: float
        cpu_memory_usage: int
        self_cpu_memory_usage: int
        device_time: float
        device_time_total: float
        self_device_time_total: float
        device_memory_usage: int
        self_device_memory_usage: int
        cuda_time_total: float
        self_cuda_time_total: float
        cuda_memory_usage: int
        self_cuda_memory_usage: int
        flops: int
        input_shapes: Any
        stack: list[str]
    else:

        def __getattr__(self, name: str) -> Any:
            # Only called for a name that this version of torch does not have.
            try:
                return object.__getattribute__(self, other_name(name))
            except AttributeError:
                raise AttributeError(f"a row of key_averages() has no {name!r}") from None

    @property
    def cuda_time(self) -> float:
        """Mean time on the device in microseconds; torch warns where it still has this name."""
        return float(self.cuda_time_total / self.count) if self.count else 0.0


class KeyAverages(TorchEventList):
    """Lists the rows that `key_averages()` returns.

    >>> rows = prof.key_averages()                                  # doctest: +SKIP
    >>> print(rows.table(sort_by="cuda_time_total", row_limit=10))  # doctest: +SKIP
    """

    def table(self, sort_by: str | None = None, row_limit: int = 100, *args: Any, **options: Any) -> str:
        """Returns torch's table of these rows.

        Args:
            sort_by: Column to sort by, with its old or its new name.
            row_limit: Rows to show at most.
            *args: Passed on to torch.
            **options: Passed on to torch.

        Raises:
            ValueError: There is no such column.
        """
        if sort_by is not None:
            sort_by = self._known_name(sort_by)
        torch_table: Any = getattr(super(), "table")
        return str(torch_table(sort_by, row_limit, *args, **options))

    def _known_name(self, sort_by: str) -> str:
        row = self[0] if self else AverageRow()
        for device in ("xpu", "privateuse1"):
            sort_by = sort_by.replace(device, "device")
        if not isinstance(getattr(row, sort_by, None), (int, float)):
            near = difflib.get_close_matches(sort_by, SORT_NAMES, n=3, cutoff=0.5) or SORT_NAMES
            raise ValueError(f"cannot sort by {sort_by!r}, expected one of: {', '.join(map(repr, near))}")
        return sort_by


def with_old_names(averages: Any) -> KeyAverages:
    """Turns what torch's `key_averages()` returned into a `KeyAverages` of the same rows."""
    # The rows stay the objects that torch made, so whatever torch can do with them still works.
    for row in averages:
        row.__class__ = AverageRow
    averages.__class__ = KeyAverages
    return averages  # type: ignore[no-any-return]
