"""Traces that go to a bucket from a training loop, which neither waits nor fails."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("torch")

from processes import run  # noqa: E402

LOOP = """
import sys, torch
from stepscope.torch import profile, schedule, trace_handler
handler = trace_handler(sys.argv[1], store="s3://stepscope/team", run="job", depth=sys.argv[2])
with profile(on_trace_ready=handler, schedule=schedule(wait=1, warmup=1, active=2, repeat=1)) as prof:
    for _ in range(6):
        torch.ones(64).sin()
        prof.step()
print("done")
"""
PATIENCE_S = 60


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A spool of its own, and no upload that outlives the test."""
    monkeypatch.setenv("STEPSCOPE_SPOOL", str(tmp_path / "spool"))
    for name, value in (("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_ALLOW_HTTP", "true")):
        monkeypatch.setenv(name, value)
    yield monkeypatch
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(tmp_path).encode() in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            pass


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "stepscope", *arguments], capture_output=True, text=True, check=False)


def spooled() -> dict[str, int]:
    row: dict[str, int] = json.loads(command("store", "spool", "-f", "json").stdout)["rows"][0]
    return row


def wait_for_spool() -> None:
    deadline = time.monotonic() + PATIENCE_S
    while spooled()["recordings"] == 0:
        assert time.monotonic() < deadline, "nothing came into the spool"
        time.sleep(0.2)


@contextmanager
def moto() -> Iterator[int]:
    """A server with a bucket."""
    program = os.environ.get("STEPSCOPE_MOTO")
    if not program:
        pytest.skip("set STEPSCOPE_MOTO to the program moto_server")
    port = free_port()
    server = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                request = urllib.request.Request(f"http://127.0.0.1:{port}/stepscope", method="PUT")
                urllib.request.urlopen(request, timeout=10).close()
                break
            except OSError:
                assert time.monotonic() < deadline, "moto does not answer"
                time.sleep(0.1)
        yield port
    finally:
        server.kill()
        server.wait()


def test_a_bucket_that_is_gone_does_not_stop_the_loop(tmp_path: Path, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    ended = run(tmp_path, LOOP, str(tmp_path / "traces"), "full")
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    wait_for_spool()
    assert spooled()["refused"] == 0
    assert len([path for path in (tmp_path / "traces").iterdir() if not path.name.startswith(".")]) == 1


@pytest.mark.parametrize("depth", ["full", "sums"])
def test_a_trace_comes_into_the_bucket(depth: str, tmp_path: Path, environment: pytest.MonkeyPatch) -> None:
    with moto() as port:
        environment.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        ended = run(tmp_path, LOOP, str(tmp_path / "traces"), depth)
        assert (ended.code, ended.out) == (0, "done\n"), ended.err
        wait_for_spool()
        # The process beside the loop waits for its moment of a minute.
        uploaded = command("store", "upload", "-f", "json")
        assert uploaded.returncode == 0, uploaded.stderr
        assert spooled()["recordings"] == 0
        steps = command("sql", "s3://stepscope/team/runs/job", "SELECT count(*) AS n FROM steps", "-f", "csv")
        assert steps.stdout == "n\n2\n", steps.stderr
        events = command("sql", "s3://stepscope/team", "SELECT count(*) > 0 AS n FROM spans", "-f", "csv")
        assert (events.returncode, events.stdout) == ((0, "n\ntrue\n") if depth == "full" else (3, "")), events.stderr

        import stepscope as ss

        assert ss.open("s3://stepscope/team/runs/job").sql("SELECT count(*) AS n FROM steps").to_pylist() == [{"n": 2}]


def test_wrong_arguments_are_refused_at_once(tmp_path: Path) -> None:
    from stepscope.errors import UsageError
    from stepscope.torch import trace_handler

    with pytest.raises(UsageError, match="expected a bucket"):
        trace_handler(tmp_path, store="folder")
    with pytest.raises(UsageError, match='expected "full" or "sums"'):
        trace_handler(tmp_path, store="s3://bucket/team", depth="all")
