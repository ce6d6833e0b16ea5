"""Finishes a recording before the process ends: at a signal that would kill it, or at its exit.

Handles only signals that have no handler yet: a handler of the program stays in charge, before and after. The process
then ends by the signal, as it would have.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from stepscope.saying import say

__all__ = ["before_end", "postponed"]

# A program in a long call of a library hears of a signal only after it. Without us it would have ended at once.
PATIENCE_S = 10.0

_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name) and os.name == "posix"]

_actions: list[Callable[[str], None]] = []
_is_ending = threading.Event()
_alarm: int | None = None
_owner_id = 0
_critical_sections = 0
_pending: int | None = None


def before_end(action: Callable[[str], None]) -> Callable[[], None]:
    """Registers `action`, called with the reason why the process ends; returns what unregisters it."""
    global _owner_id
    if _owner_id != os.getpid():
        _owner_id = os.getpid()
        _actions.clear()
        atexit.register(_exiting)
    _actions.append(action)
    _listen()

    def take_back() -> None:
        if action in _actions:
            _actions.remove(action)
        if not _actions:
            _stop_listening()

    return take_back


@contextmanager
def postponed() -> Iterator[None]:
    """Delays signals while a recording changes its state; they are handled after it."""
    global _critical_sections, _pending
    _critical_sections += 1
    try:
        yield
    finally:
        _critical_sections -= 1
        if _pending is not None and _critical_sections == 0:
            number, _pending = _pending, None
            _signaled(number, None)


def _listen() -> None:
    # Python takes handlers in the main thread alone.
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _signaled)
    if any(_is_ours(number) for number in _SIGNALS):
        _start_alarm()


def _stop_listening() -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _SIGNALS:
        if _is_ours(number):
            signal.signal(number, signal.SIG_DFL)
    _end_alarm()


def _is_ours(number: int) -> bool:
    return signal.getsignal(number) is _signaled


def _signaled(number: int, _frame: FrameType | None) -> None:
    global _pending
    name = signal.Signals(number).name
    if os.getpid() == _owner_id:
        if _critical_sections and _pending is None and not _is_ending.is_set():
            _pending = number
            return
        if _is_ending.is_set():
            say(f"no trace was written: {name} came again before it was complete")
        else:
            _is_ending.set()
            _finish(name)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _exiting() -> None:
    if os.getpid() == _owner_id:
        _finish("the program ended")


def _finish(why: str) -> None:
    # The outermost first: it may know how to finish what it has started itself.
    while _actions:
        action = _actions.pop(0)
        try:
            action(why)
        except BaseException as error:
            say(f"no trace was written ({why}): {type(error).__name__}: {error}")


def _start_alarm() -> None:
    """Starts a thread that receives signals at once, even while the main thread is in a long call."""
    global _alarm
    if _alarm is not None:
        return
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    others = signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    if others != -1:
        # Somebody else needs it, such as asyncio.
        signal.set_wakeup_fd(others)
        os.close(readable)
        os.close(writable)
        return
    _alarm = writable
    threading.Thread(target=_hear, args=(readable,), name="stepscope-signals", daemon=True).start()


def _end_alarm() -> None:
    global _alarm
    if _alarm is None:
        return
    current = signal.set_wakeup_fd(-1)
    if current not in (-1, _alarm):
        signal.set_wakeup_fd(current)
    os.close(_alarm)
    _alarm = None


def _hear(readable: int) -> None:
    while number := os.read(readable, 1):
        if number[0] in _SIGNALS and _is_ours(number[0]) and not _is_ending.wait(PATIENCE_S):
            name = signal.Signals(number[0]).name
            say(f"no trace was written: the program did not respond to {name} for {PATIENCE_S:.0f} s")
            os._exit(128 + number[0])
    os.close(readable)


def _forget() -> None:
    """Clears the state in a fork: it has no recording, and its signals are not those of its parent."""
    global _alarm
    if _alarm is None and not any(_is_ours(number) for number in _SIGNALS):
        return
    _actions.clear()
    for number in _SIGNALS:
        if _is_ours(number):
            signal.signal(number, signal.SIG_DFL)
    if _alarm is not None:
        signal.set_wakeup_fd(-1)
        os.close(_alarm)
        _alarm = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
