"""Memory history and snapshots. There is no CUDA device here: what torch does with one is not verified."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

import stepscope
from stepscope.torch import record_memory_history, snapshot

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="these tests are about machines without a device")


def test_without_a_device_the_program_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert not record_memory_history()
    assert snapshot(tmp_path / "memory.pickle") is None
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().err.splitlines() == [
        "stepscope: memory history is not recorded: there is no CUDA device",
        "stepscope: no memory snapshot is written: there is no CUDA device",
    ]


def test_a_snapshot_is_whole_and_can_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []
    block = {"address": 4096, "size": 1024, "requested_size": 1000, "state": "active_allocated", "frames": []}
    segment = {"device": 0, "address": 4096, "total_size": 1024, "allocated_size": 1024, "stream": 0, "blocks": [block]}

    def dump(path: str) -> None:
        Path(path).write_bytes(pickle.dumps({"segments": [segment], "device_traces": [[]]}))

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", lambda *given, **options: asked.append((given, options)))
    monkeypatch.setattr(torch.cuda.memory, "_dump_snapshot", dump)
    assert record_memory_history(max_entries=100)
    assert not record_memory_history(None)
    assert asked == [(("all",), {"max_entries": 100}), ((None,), {})]
    path = snapshot(tmp_path / "runs" / "memory.pickle")
    assert path is not None and [file.name for file in path.parent.iterdir()] == ["memory.pickle"]
    assert f"open with: stepscope memory {path}" in capfd.readouterr().err
    rows = stepscope.open(path).sql("SELECT state, size_bytes, requested_bytes FROM memory_blocks").to_pylist()
    assert rows == [{"state": "allocated", "size_bytes": 1024, "requested_bytes": 1000}]


def test_a_failure_of_torch_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(path: str) -> None:
        Path(path).write_bytes(b"half")
        raise RuntimeError("out of everything")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda.memory, "_dump_snapshot", fail)
    assert snapshot(tmp_path / "memory.pickle") is None
    assert list(tmp_path.iterdir()) == []
    assert "no memory snapshot is written: out of everything" in capfd.readouterr().err
