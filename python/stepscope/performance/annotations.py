"""Adds regions to torch's traces: notifies the recorder while one of torch's profilers records."""

from __future__ import annotations

import sys

from stepscope import _native

__all__ = ["follow_torch"]

_PROFILER = "torch.autograd.profiler"

_follows = False


def follow_torch() -> None:
    """Writes regions as annotations while torch records, whenever torch is imported."""
    global _follows
    if not _follows:
        _follows = True
        from stepscope.running.after_import import after_import

        after_import(_PROFILER, _follow)


def _follow() -> None:
    profiler = sys.modules[_PROFILER]
    note = getattr(profiler, "_set_is_profiler_enabled", None)
    if note is None:  # Versions before 2.1 do not say when they record.
        return

    def note_and_tell(enable: bool) -> None:
        note(enable)
        _native.annotate_regions(bool(enable))

    setattr(profiler, "_set_is_profiler_enabled", note_and_tell)
    _native.annotate_regions(bool(getattr(profiler, "_is_profiler_enabled", False)))
