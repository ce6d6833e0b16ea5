"""What the tests share: a small trace that the command makes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_configure() -> None:
    """Hear signals even if the tests run in the background, where shells let programs ignore them. Scripts inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of the tests' own."""
    before = os.environ.get("STEPSCOPE_CACHE")
    os.environ["STEPSCOPE_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["STEPSCOPE_CACHE"]
    else:
        os.environ["STEPSCOPE_CACHE"] = before


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Traces of a small job with known faults."""
    folder = tmp_path_factory.mktemp("demo") / "job"
    subprocess.run([sys.executable, "-m", "stepscope", "demo", str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def torch_trace() -> Path:
    """A recording of torch on a CPU that the project keeps."""
    return Path(__file__).parents[2] / "fixtures" / "torch_cpu" / "trace.json.gz"
