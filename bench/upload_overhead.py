"""Compares the time per step of a training loop that uploads its trace with one that does not.

python bench/upload_overhead.py MOTO_SERVER [ROUNDS]: needs Stepscope, torch, and moto's server. Each round runs two
loops for each state of the bucket, one of which uploads. They take turns of a few steps, so that both have the same
machine; the processes of the upload stand still while the other loop has its turn. Two equal loops may differ by a
tenth, so what counts is how much their ratio grows when the upload begins: the median of the rounds. A turn counts
with its median step. The bucket is well, slow (20 KB/s), refuses (403), or is gone (nothing listens). Every loop must
end with 0, and each recording must be in the bucket if it is well, in the spool if it refuses or is gone, and in
either if it is slow.
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

KINDS = ("well", "slow", "refuses", "gone")
MOST = 1.05
SLOW_BYTES_PER_S = 20_000
STEPS_PER_TURN = 100
TURNS_BEFORE, TURNS_BEHIND = 40, 60
# Steps in the middle, among them those that are profiled.
PROFILED_STEPS = 20
# One may be slower than another, so both loops take turns on each.
CORES = sorted(os.sched_getaffinity(0))

# Each line of standard input is a number of steps and the cores to run them on; their times are the answer.
LOOP = """
import json, os, sys, time, torch
from stepscope.torch import profile, schedule, trace_handler
torch.set_num_threads(1)
torch.manual_seed(0)
folder, store, steps_before = sys.argv[1:]
# Each rank uploads at another time of a minute: this one after four seconds, while it is measured.
handler = trace_handler(folder, worker_name="rank4", **({"store": store, "run": "job"} if store else {}))
# Small enough for the cache of a core: what neighbors of this machine do to its memory matters less.
model = torch.nn.Sequential(*[torch.nn.Linear(192, 192) for _ in range(4)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batch, target = torch.randn(64, 192), torch.randn(64, 192)
with profile(on_trace_ready=handler, schedule=schedule(wait=int(steps_before), warmup=1, active=10, repeat=1)) as prof:
    for line in sys.stdin:
        times = []
        steps, cores = json.loads(line)
        os.sched_setaffinity(0, cores)
        for step in range(steps):
            begun = time.perf_counter()
            loss = (model(batch) - target).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            times.append(time.perf_counter() - begun)
            prof.step()
        print(json.dumps(times), flush=True)
"""


def main() -> None:
    moto, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    ratios: dict[str, list[float]] = {kind: [] for kind in KINDS}
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
                    own = Path(folder) / f"{number}-{kind}"
                    ratios[kind].append(ratio_of(kind, own, ports[kind]))
                    is_uploaded, is_spooled = is_in_bucket(port, own.name), any((own / "spool").rglob("*.pack"))
                    uploaded[kind] += is_uploaded
                    spooled[kind] += is_spooled
                    lost += not (is_uploaded or is_spooled)
                said = ", ".join(f"{kind} {ratios[kind][-1]:.3f}" for kind in KINDS)
                print(f"round {number + 1} of {rounds}: {said}", file=sys.stderr, flush=True)
        finally:
            server.kill()
    is_met = lost == 0 and uploaded["well"] == spooled["refuses"] == spooled["gone"] == rounds
    print("bucket     time per step ÷ without upload     in the bucket     in the spool")
    for kind in KINDS:
        ratio = statistics.median(ratios[kind])
        is_met &= ratio <= MOST
        print(f"{kind:10} {ratio:5.3f} (≤ {MOST}; {min(ratios[kind]):.3f} to {max(ratios[kind]):.3f}) "
              f"{uploaded[kind]:11} of {rounds} {spooled[kind]:11} of {rounds}")
    print(f"recordings neither in the bucket nor in the spool: {lost}, expected 0")
    sys.exit(0 if is_met else 1)


def ratio_of(kind: str, own: Path, port: int) -> float:
    """The time of a step with upload ÷ that without, of two loops that take turns."""
    own.mkdir()
    environment = {
        **os.environ, "STEPSCOPE_SPOOL": str(own / "spool"), "STEPSCOPE_QUIET": "1", "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }
    alone = Loop([str(own / "alone"), ""], environment)
    uploading = Loop([str(own / "traces"), f"s3://stepscope/{own.name}"], environment)
    before = in_turns(alone, uploading, TURNS_BEFORE, own)
    # The upload begins here; its processes may run anywhere.
    alone.turn(PROFILED_STEPS, CORES)
    uploading.turn(PROFILED_STEPS, CORES)
    behind = in_turns(alone, uploading, TURNS_BEHIND, own)
    for loop in (alone, uploading):
        loop.end(kind)
    # The upload waits for its moment of a minute: what is left of it must not disturb the next loops.
    wait_until = time.monotonic() + (70 if kind == "well" else 5)
    while time.monotonic() < wait_until:
        if kind == "well" and list((own / "traces").glob("*")) and not list((own / "spool").rglob("*.pack")):
            break
        time.sleep(0.5)
    signal_all("KILL", own)
    return behind / before


def in_turns(alone: Loop, uploading: Loop, turns: int, own: Path) -> float:
    """The time of a step of one loop ÷ that of the other."""
    time_uploading = time_alone = 0.0
    for turn in range(turns):
        core = [CORES[turn % len(CORES)]]
        # The trace is read and uploaded by processes whose commands name it.
        signal_all("STOP", own)
        time_alone += statistics.median(alone.turn(STEPS_PER_TURN, core))
        signal_all("CONT", own)
        time_uploading += statistics.median(uploading.turn(STEPS_PER_TURN, core))
    return time_uploading / time_alone


class Loop:
    """A training loop that runs as many steps as it is told to."""

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        command = [sys.executable, "-c", LOOP, *words, str(TURNS_BEFORE * STEPS_PER_TURN)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe, stderr=pipe)

    def turn(self, steps: int, cores: list[int]) -> list[float]:
        self.process.stdin.write(json.dumps([steps, cores]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"a loop ended with {self.process.wait()}: {self.process.stderr.read()}")
        return json.loads(answer)

    def end(self, kind: str) -> None:
        _, errors = self.process.communicate(timeout=600)
        if self.process.returncode != 0:
            raise SystemExit(f"{kind}: a loop ended with {self.process.returncode}: {errors}")


def signal_all(signal: str, own: Path) -> None:
    """Sends a signal to the processes that read and upload the traces of a loop."""
    subprocess.run(["pkill", f"-{signal}", "-f", f"stepscope ingest {own}"], check=False)


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
