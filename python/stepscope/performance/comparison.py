"""Compares regions of one profiler, or of several runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from stepscope.errors import RegionError

from .saved import Row

__all__ = ["Comparison"]

# Figure, heading, format.
_COLUMNS = (
    ("calls", "calls", ",.0f"),
    ("wall_time_s", "time s", ",.4g"),
    ("p95_s", "p95 s", ",.4g"),
    ("throughput", "samples/s", ",.1f"),
    ("peak_ram_mb", "peak RAM MB", ",.1f"),
    ("growth_mb", "growth MB", "+,.1f"),
    ("peak_gpu_mb", "peak GPU MB", ",.1f"),
    ("estimated_flops", "FLOPs", ",.0f"),
    ("cpu_percent", "CPU %", ".1f"),
)


class Comparison:
    """Compares the metrics of several regions or runs with those of the first one.

    It prints as a table, also in a notebook. `pandas.DataFrame(comparison.to_dict())` reads it unmodified.
    """

    def __init__(self, rows: Mapping[str, Row], bases: Mapping[str, str] | None = None) -> None:
        """Creates a comparison.

        Args:
            rows: Metrics by label.
            bases: Label that each label is compared with; the first one by default.
        """
        self._rows = dict(rows)
        first = next(iter(self._rows), "")
        self._bases = {label: (bases or {}).get(label, first) for label in self._rows}

    @property
    def labels(self) -> list[str]:
        """Labels of what is compared, in order."""
        return list(self._rows)

    @property
    def fastest(self) -> str:
        """Label with the shortest typical call."""
        if not self._rows:
            raise RegionError("found nothing to compare", None, "no region has closed, or the profiler is off")
        return min(self._rows, key=lambda label: self._rows[label]["wall_time_s"] or float("inf"))

    def ratio(self, label: str, figure: str = "wall_time_s") -> float | None:
        """Returns a metric as a multiple of what it is compared with; `None` if one of them was not measured.

        Args:
            label: Label of the row, as `labels` lists it.
            figure: Name of the metric, such as `"peak_ram_mb"`.
        """
        row, base_row = self._row_and_base(label)
        own, base = row.get(figure), base_row.get(figure)
        return None if own is None or not base else own / base

    def is_within_noise(self, label: str) -> bool | None:
        """Returns whether the times of most calls overlap with those they are compared with.

        `None` if that is not known, because one of the two has too few calls.

        Args:
            label: Label of the row, as `labels` lists it.
        """
        ranges = []
        for row in self._row_and_base(label):
            least, most = row.get("min_s"), row.get("p95_s")
            if least is None or most is None or (row.get("calls") or 0) < 3:
                return None
            ranges.append((least, most))
        (own_least, own_most), (base_least, base_most) = ranges
        return own_least <= base_most and base_least <= own_most

    def to_dict(self) -> dict[str, Row]:
        """Returns the metrics by label; `None` for what was not measured."""
        return {label: dict(row) for label, row in self._rows.items()}

    def __len__(self) -> int:
        return len(self._rows)

    def __str__(self) -> str:
        if not self._rows:
            return "nothing to compare: no region has closed, or the profiler is off"
        table = [self._headings(), *self._cells()]
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = []
        for cells in table:
            numbers = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))
            lines.append("  ".join([cells[0].ljust(widths[0]), *numbers]).rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = _html_row("th", self._headings())
        return f"<table>{head}{''.join(_html_row('td', cells) for cells in self._cells())}</table>"

    def _row_and_base(self, label: str) -> tuple[Row, Row]:
        if label not in self._rows:
            hint = f"pass one of: {', '.join(f'`{known}`' for known in self._rows)}" if self._rows else None
            raise RegionError(f"no such label in the comparison: `{label}`", None, hint)
        return self._rows[label], self._rows[self._bases[label]]

    def _shown(self) -> list[tuple[str, str, str]]:
        """Returns the columns with at least one measured value."""
        return [column for column in _COLUMNS if any(row.get(column[0]) is not None for row in self._rows.values())]

    def _headings(self) -> list[str]:
        return ["region", *(heading for _, heading, _ in self._shown()), "ratio", ""]

    def _cells(self) -> list[list[str]]:
        rows = []
        for label, row in self._rows.items():
            figures = [_cell(row.get(figure), form) for figure, _, form in self._shown()]
            rows.append([label, *figures, *self._change(label)])
        return rows

    def _change(self, label: str) -> list[str]:
        ratio = self.ratio(label)
        if self._bases[label] == label:
            return ["1.00×", ""]
        if ratio is None:
            return ["–", ""]
        noise = {True: "within noise", False: "", None: "noise unknown"}[self.is_within_noise(label)]
        return [f"{ratio:.2f}×", noise]


def _cell(value: float | None, form: str) -> str:
    if value is None:
        return "–"
    text = format(value, form)
    # What rounds to nothing has no sign.
    return text if text.strip("+-0.") else text.lstrip("+-")


def _html_row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
