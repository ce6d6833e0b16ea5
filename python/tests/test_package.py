"""The package as a whole: names, the command, signals and threads."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import stepscope as ss

def test_public_names_exist() -> None:
    for name in ss.__all__:
        assert getattr(ss, name) is not None
        assert name in dir(ss)
    assert ss.__version__


def test_the_command(torch_trace: Path) -> None:
    said = subprocess.run([sys.executable, "-m", "stepscope", "--version"], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == f"stepscope {ss.__version__}"
    wrong = subprocess.run([sys.executable, "-m", "stepscope", "opps", str(torch_trace)], capture_output=True, text=True)
    assert wrong.returncode == 2 and "ops" in wrong.stderr


def test_ctrl_c_ends_a_question(torch_trace: Path) -> None:
    """A query that would take minutes ends within a second or so."""
    code = (
        "import stepscope as ss, sys; run = ss.open(sys.argv[1]); print('ready', flush=True)\n"
        "try: run.sql('SELECT count(*) FROM spans a, spans b, spans c, spans d WHERE a.dur_ns + b.dur_ns > c.dur_ns + d.dur_ns')\n"
        "except KeyboardInterrupt: print('interrupted')"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(torch_trace)],
        stdout=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background ignores the signal, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "ready"
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert child.wait(timeout=30) == 0
    assert child.stdout.read().strip() == "interrupted"
    assert time.monotonic() - begun < 10


def test_other_threads_go_on_while_a_question_is_answered(torch_trace: Path) -> None:
    import threading

    run = ss.open(torch_trace)
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.005):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    begun = time.monotonic()
    while time.monotonic() - begun < 0.5:
        run.ops()
    stop.set()
    thread.join()
    assert ticks > 20
