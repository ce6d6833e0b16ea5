"""The part of a run that an analysis covers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias, TypedDict

    Steps: TypeAlias = int | str | tuple[int, int] | range

    class Part(TypedDict, total=False):
        """The part of a run that an analysis covers, and how its rows are grouped."""

        group_by: str | Iterable[str]
        rank: int | str | Iterable[int]
        window: int
        step: Steps
        from_ns: int
        to_ns: int
        samples_per_step: float
