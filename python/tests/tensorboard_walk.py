"""Starts TensorBoard on a log folder and walks through its tab in Chromium: python tensorboard_walk.py FOLDER [PREFIX]"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

PATIENCE_S = 120


def main(folder: str, prefix: str = "") -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["--logdir", folder, "--host", "127.0.0.1", "--port", str(port)]
    arguments += ["--path_prefix", prefix] if prefix else []
    server = subprocess.Popen([sys.executable, "-m", "tensorboard.main", *arguments], stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}{prefix}/"
    try:
        wait_for_runs(address)
        walk = Path(__file__).parents[2] / "ui" / "e2e" / "tensorboard.mjs"
        return subprocess.run(["node", str(walk), address], timeout=300).returncode
    finally:
        server.terminate()
        server.wait(30)


def wait_for_runs(address: str) -> None:
    """Until TensorBoard has the tab, and all its runs are read."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            is_there = ask(f"{address}data/plugins_listing").get("stepscope", {}).get("enabled")
            runs = ask(f"{address}data/plugin/stepscope/page/api/session")["runs"]
            if is_there and len(runs) > 1 and all(run["state"] == "ready" for run in runs):
                return
        except (URLError, ConnectionError):
            pass
        time.sleep(0.5)
    raise SystemExit("error: TensorBoard has no tab with runs")


def ask(address: str) -> dict[str, object]:
    with urlopen(address, timeout=30) as answer:
        return json.load(answer)  # type: ignore[no-any-return]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
