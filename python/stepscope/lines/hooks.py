"""Reports every line to a `LineRecorder`: with `sys.monitoring` from Python 3.12 on, with a trace function before."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

from stepscope.errors import UsageError

if TYPE_CHECKING:
    from stepscope._native import LineRecorder

_TAKEN_OVER = "lines are missing: another trace function, such as a debugger or a coverage tool, took over"


class TraceHook:
    """Uses a trace function for this thread and for those that begin later: Python 3.10 and 3.11."""

    def __init__(self, recorder: LineRecorder) -> None:
        self._recorder = recorder
        self._thread_id = threading.get_ident()
        self._before = sys.gettrace()
        self._before_in_threads = threading.gettrace()
        threading.settrace(self._begin_thread)
        recorder.trace_thread()

    def refresh(self) -> None:
        """Notes that another profiler has begun, maybe on another thread."""
        if sys.gettrace() is not cast(Any, self._recorder):
            self._recorder.trace_thread()

    def remove(self) -> str | None:
        """Restores what was there before; returns a message if another trace function took over."""
        is_ours = sys.gettrace() is cast(Any, self._recorder)
        # Every other thread takes its own off when it next comes to a line.
        self._recorder.end()
        if threading.gettrace() == self._begin_thread:
            threading.settrace(cast(Any, self._before_in_threads))
        if threading.get_ident() != self._thread_id:
            return None
        if not is_ours:
            return _TAKEN_OVER
        self._recorder.untrace_thread()
        if self._before is not None:
            sys.settrace(self._before)
        return None

    def _begin_thread(self, frame: FrameType, event: str, argument: Any) -> None:
        self._recorder.trace_thread()


if sys.version_info >= (3, 12):
    _MONITORING = sys.monitoring

    class MonitoringHook:
        """Uses callbacks for all threads, from Python 3.12 on; turns off those of unwanted code one by one."""

        def __init__(self, recorder: LineRecorder) -> None:
            # Profilers share a number by custom; any free one does.
            free = [tool for tool in (_MONITORING.PROFILER_ID, 3, 4, 5, 1, 0) if _MONITORING.get_tool(tool) is None]
            if not free:
                names = ", ".join(str(_MONITORING.get_tool(tool)) for tool in range(6))
                hint = "stop one of them"
                raise UsageError(f"found no free tool id in sys.monitoring, in use: {names}", None, hint)
            self._tool = free[0]
            _MONITORING.use_tool_id(self._tool, "stepscope")
            events = _MONITORING.events
            self._callbacks = {
                events.PY_START: recorder.on_start,
                events.PY_RESUME: recorder.on_resume,
                events.PY_THROW: recorder.on_throw,
                events.LINE: recorder.on_line,
                events.PY_RETURN: recorder.on_leave,
                events.PY_YIELD: recorder.on_leave,
                events.PY_UNWIND: recorder.on_unwind,
            }
            for event, callback in self._callbacks.items():
                _MONITORING.register_callback(self._tool, event, callback)
            # What an earlier recording has switched off.
            _MONITORING.restart_events()
            _MONITORING.set_events(self._tool, sum(self._callbacks))

        def refresh(self) -> None:
            """Notes that another profiler has begun: it may want what was turned off."""
            _MONITORING.restart_events()

        def remove(self) -> str | None:
            """Removes the callbacks."""
            _MONITORING.set_events(self._tool, 0)
            for event in self._callbacks:
                _MONITORING.register_callback(self._tool, event, None)
            _MONITORING.free_tool_id(self._tool)
            return None

    Hook = MonitoringHook
else:
    Hook = TraceHook
