"""Compares the time per step of a training loop that uploads its traces with one that does not.

python bench/upload_overhead.py MOTO_SERVER [ROUNDS]: needs Stepscope, torch, and moto's server. Each round runs a loop
without upload and one for each state of the bucket, in an order drawn by lot: so all have the same neighbors on a busy
machine. The bucket is well, slow (20 KB/s), refuses (403), or is gone (nothing listens). Every loop must end with 0, and
each recording must be in the bucket if it is well, in the spool if it refuses or is gone, and in either if it is slow.
"""

from __future__ import annotations

import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

KINDS = ("no upload", "well", "slow", "refuses", "gone")
MOST = 1.05
SLOW_BYTES_PER_S = 20_000

# The trace is written after the first steps; those that are measured come while it is read and uploaded.
LOOP = """
import json, sys, time, torch
from stepscope.torch import profile, schedule, trace_handler
torch.set_num_threads(1)
store = None if sys.argv[2] == "no upload" else "s3://stepscope/" + sys.argv[3]
options = {} if store is None else {"store": store, "run": "job"}
handler = trace_handler(sys.argv[1], **options)
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batch = torch.randn(64, 512)
times = []
with profile(on_trace_ready=handler, schedule=schedule(wait=1, warmup=1, active=10, repeat=1)) as prof:
    for step in range(1000):
        begun = time.perf_counter()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter() - begun)
        prof.step()
print(json.dumps(times[20:]))
"""


def main() -> None:
    moto, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    medians: dict[str, list[float]] = {kind: [] for kind in KINDS}
    uploaded, spooled = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    lost = 0
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        server = subprocess.Popen([moto, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            request = urllib.request.Request(f"http://127.0.0.1:{port}/stepscope", method="PUT")
            urllib.request.urlopen(request, timeout=30).close()
            ports = {"well": port, "slow": slow_proxy(port), "refuses": refusing_server(), "gone": free_port()}
            for number in range(rounds):
                for kind in random.sample(KINDS, len(KINDS)):
                    own = Path(folder) / f"{number}-{kind.replace(' ', '-')}"
                    medians[kind].append(loop(kind, own, ports.get(kind)))
                    if kind != "no upload":
                        is_uploaded, is_spooled = is_in_bucket(port, own.name), any((own / "spool").rglob("*.pack"))
                        uploaded[kind] += is_uploaded
                        spooled[kind] += is_spooled
                        lost += not (is_uploaded or is_spooled)
                alone = medians["no upload"][-1]
                ratios = ", ".join(f"{kind} {medians[kind][-1] / alone:.3f}" for kind in KINDS[1:])
                print(f"round {number + 1} of {rounds}: {ratios}", file=sys.stderr, flush=True)
        finally:
            server.kill()
    is_met = lost == 0 and uploaded["well"] == spooled["refuses"] == spooled["gone"] == rounds
    print("bucket     time per step ÷ without upload     in the bucket     in the spool")
    for kind in KINDS[1:]:
        ratios = [own / alone for own, alone in zip(medians[kind], medians["no upload"], strict=True)]
        ratio = statistics.median(ratios)
        is_met &= ratio <= MOST
        print(f"{kind:10} {ratio:5.3f} (≤ {MOST}; {min(ratios):.3f} to {max(ratios):.3f}) "
              f"{uploaded[kind]:11} of {rounds} {spooled[kind]:11} of {rounds}")
    print(f"recordings neither in the bucket nor in the spool: {lost}, expected 0")
    sys.exit(0 if is_met else 1)


def loop(kind: str, own: Path, port: int | None) -> float:
    """The median time of a step, in seconds; waits until what the loop started has ended or gives up."""
    own.mkdir()
    environment = {
        **os.environ, "STEPSCOPE_SPOOL": str(own / "spool"), "STEPSCOPE_QUIET": "1", "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }
    words = [sys.executable, "-c", LOOP, str(own / "traces"), kind, own.name]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
    if ended.returncode != 0:
        raise SystemExit(f"{kind}: the loop ended with {ended.returncode}: {ended.stderr}")
    # The upload waits for its moment of a minute: what is left of it must not disturb the next loop.
    wait_until = time.monotonic() + (70 if kind == "well" else 5)
    while kind != "no upload" and time.monotonic() < wait_until:
        if kind == "well" and list((own / "traces").glob("*")) and not list((own / "spool").rglob("*.pack")):
            break
        time.sleep(0.5)
    subprocess.run(["pkill", "-f", str(own)], check=False)
    return statistics.median(json.loads(ended.stdout.splitlines()[-1]))


def is_in_bucket(port: int, name: str) -> bool:
    url = f"http://127.0.0.1:{port}/stepscope?list-type=2&prefix={name}/"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return b".pack</Key>" in answer.read()


def slow_proxy(port: int) -> int:
    """A port before another one that hands on a few bytes at a time."""
    listener = socket.create_server(("127.0.0.1", 0))

    def hand_on(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(SLOW_BYTES_PER_S // 10):
                target.sendall(data)
                time.sleep(0.1)
        except OSError:
            pass
        target.close()

    def accept() -> None:
        while True:
            client = listener.accept()[0]
            server = socket.create_connection(("127.0.0.1", port))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=hand_on, args=ends, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def refusing_server() -> int:
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            client = listener.accept()[0]
            client.recv(65536)
            client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            client.close()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("moto does not answer")


if __name__ == "__main__":
    main()
