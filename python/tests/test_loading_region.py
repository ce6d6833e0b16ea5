"""A region that its author called `data_loading` speaks for itself where no DataLoader does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import stepscope as ss

torch = pytest.importorskip("torch")

from torch.profiler import record_function  # noqa: E402

pytestmark = pytest.mark.measures_time


@pytest.mark.parametrize("name", ["data_loading", "Data Loading", "train/next_batch"])
def test_a_region_is_evidence(name: str, tmp_path: Path) -> None:
    plan = ss.torch.schedule(wait=0, warmup=1, active=4, repeat=1)
    handler = ss.torch.trace_handler(str(tmp_path))
    data = torch.randn(64, 64)
    took = []
    with ss.torch.profile(schedule=plan, on_trace_ready=handler) as prof:
        for _ in range(5):
            begun = time.perf_counter()
            with record_function(name):
                time.sleep(0.005)
            took.append(time.perf_counter() - begun)
            data @ data
            prof.step()
    run = ss.open(tmp_path)
    finding = next(row for row in run.diagnose().to_dict()["rows"] if row["rule"] == "data_loading")
    assert any(name in line for line in finding["evidence"]), finding
    loading_ns = sum(took[1:]) / 4 * 1e9
    assert finding["at_stake_ns"] == pytest.approx(loading_ns, rel=0.1)
    classes = {row["class"]: row["mean_ns"] for row in run.summary().to_dict()["breakdown"]}
    assert classes["dataloader"] == 0
