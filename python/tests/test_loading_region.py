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
    inside, around = [], []
    with ss.torch.profile(schedule=plan, on_trace_ready=handler) as prof:
        for _ in range(5):
            before = time.perf_counter_ns()
            with record_function(name):
                begun = time.perf_counter_ns()
                time.sleep(0.005)
                inside.append(time.perf_counter_ns() - begun)
            around.append(time.perf_counter_ns() - before)
            data @ data
            prof.step()
    run = ss.open(tmp_path)
    finding = next(row for row in run.diagnose().to_dict()["rows"] if row["rule"] == "data_loading")
    assert any(name in line for line in finding["evidence"]), finding
    # Between the two readings of the clock, however busy the machine is; the first step is warm-up.
    assert 0.99 * sum(inside[1:]) / 4 <= finding["at_stake_ns"] <= 1.01 * sum(around[1:]) / 4
    classes = {row["class"]: row["mean_ns"] for row in run.summary().to_dict()["breakdown"]}
    assert classes["dataloader"] == 0
