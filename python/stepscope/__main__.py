"""Runs the `stepscope` command, also as `python -m stepscope`."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> int:
    """Runs the command line and returns its exit code."""
    if sys.argv[1:2] == ["run"]:
        from stepscope.running import main as run

        return run(sys.argv[2:])
    if sys.argv[1:2] == ["lines"]:
        from stepscope.lines.command import main as lines

        return lines(sys.argv[2:])
    from stepscope._native import command

    # The command listens to Ctrl-C itself; Python would only hear of it when the command is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["stepscope", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
