"""FLOPs of real recordings on a CPU: once under autocast, with attention, and with how much they cover."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stepscope as ss

torch = pytest.importorskip("torch")

STEPS = 3


def record(step: Callable[[], Any], folder: Path) -> ss.Run:
    step()
    trace = folder / "trace.json"
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=lambda prof: prof.export_chrome_trace(str(trace)),
        record_shapes=True,
    ) as prof:
        for _ in range(1 + STEPS):
            step()
            prof.step()
    return ss.open(trace)


def flops_of(run: ss.Run) -> dict[str, Any]:
    return {row["name"]: row["flops"] for row in run.ops().to_dict()["rows"]}


def test_autocast_counts_an_operator_once(tmp_path: Path) -> None:
    linear, data = torch.nn.Linear(64, 32), torch.randn(16, 64)

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            linear(data)

    run = record(step, tmp_path)
    expected = 2 * 16 * 64 * 32 * STEPS
    assert flops_of(run)["aten::linear"] == expected
    outermost = sum(row["outermost_flops"] or 0 for row in run.ops().to_dict()["rows"])
    assert outermost == run.metrics()["flops"]["total_flops"] == expected


def test_attention_on_a_cpu_counts_forward_and_backward(tmp_path: Path) -> None:
    query = torch.randn(2, 4, 32, 16, requires_grad=True)
    attend = torch.nn.functional.scaled_dot_product_attention

    def step() -> None:
        attend(query, query, query).sum().backward()

    flops = flops_of(record(step, tmp_path))
    products = 2 * 2 * 4 * 32 * 32 * 16 * STEPS
    assert flops["aten::scaled_dot_product_attention"] == 2 * products
    assert flops["aten::_scaled_dot_product_flash_attention_for_cpu"] == 2 * products
    assert flops["aten::_scaled_dot_product_flash_attention_for_cpu_backward"] == 5 * products


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_code_lowers_the_coverage(tmp_path: Path) -> None:
    weight, data = torch.randn(128, 128), torch.randn(64, 128)

    def plain() -> Any:
        product = data @ weight
        for _ in range(20):
            product = torch.sin(product) + 1
        return product

    for name, step in (("plain", plain), ("compiled", torch.compile(plain))):
        (tmp_path / name).mkdir()
        summary = record(step, tmp_path / name).summary().to_dict()
        assert summary["step_flops"] == 2 * 64 * 128 * 128, name
        assert 0 < summary["flops_coverage_ratio"] < 1, name
