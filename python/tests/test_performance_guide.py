"""The Python blocks of the founding guide of the profiler run as they are, with our import in place of its own.

`STEPSCOPE_CORPUS` names the folder that holds `seeds/`. What a block takes for granted (a model, data, a web
framework, …) is provided here; what needs a GPU is asked of the CPU instead.
"""

from __future__ import annotations

import gc
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import stepscope as ss  # noqa: E402
from stepscope.performance import Metrics, Unmeasured, known  # noqa: E402
from test_torch_guides import Block, blocks_of  # noqa: E402

nn = torch.nn
torch.set_num_threads(1)

CORPUS = os.environ.get("STEPSCOPE_CORPUS")


def all_blocks() -> list[Block]:
    if CORPUS is None:
        return []
    return list(blocks_of(next((Path(CORPUS) / "seeds").glob("004_*.txt"))))


def adapted(code: str) -> str:
    """The block with our import, for a machine without a GPU."""
    code = code.replace("from cookbook.measure import", "from stepscope import")
    return re.sub(r"\.cuda\(\)", "", code)


def with_our_class(code: str, name: str) -> str:
    """The block with our class in place of the one it writes."""
    head, rest = code.split(f"class {name}:")
    usage = re.split(r"^(?=# Usage)", rest, maxsplit=1, flags=re.MULTILINE)[1]
    return f"{head}from stepscope import {name}\n{usage}"


class Mlp(nn.Module):  # type: ignore[misc, name-defined]
    """Also has what scikit-learn and a service call."""

    def __init__(self, layers: int = 1) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(784, 16), *(nn.Linear(16, 16) for _ in range(layers)), nn.Linear(16, 10))

    def forward(self, x: Any) -> Any:
        return self.layers(x)

    def fit(self, inputs: Any, targets: Any) -> None:
        nn.functional.cross_entropy(self(inputs), targets).backward()

    def predict(self, values: Any) -> int:
        return int(self(torch.tensor(values)).argmax())


def stand_ins() -> dict[str, Any]:
    """What the guide takes for granted."""
    model, inputs, targets = Mlp(), torch.randn(32, 784), torch.zeros(32, dtype=torch.long)
    loader = [inputs[:16], inputs[16:]]

    def train(*_: Any, **__: Any) -> Any:
        for batch in loader:
            model.fit(batch, targets[: len(batch)])
        return model

    def slow_function() -> int:
        total = 0
        for number in range(300_000):
            total += number * number
        return total

    metrics = ss.PerformanceProfiler()
    with metrics.profile("before"):
        train()
    return {
        "torch": torch, "nn": nn, "time": time, "PerformanceProfiler": ss.PerformanceProfiler, "profiler": metrics,
        "model": model, "X_train": inputs, "y_train": targets, "MyModel": Mlp, "dataloader": loader,
        "criterion": nn.CrossEntropyLoss(), "target": targets[:16],
        "train_epoch": train, "slow_function": slow_function,
        "load_data": lambda: inputs, "preprocess": lambda data: data * 2, "train_model": train,
        "evaluate": lambda model: model(inputs).sum().item(), "train_data": loader,
        "SimpleMLPModel": Mlp, "DeepMLPModel": lambda: Mlp(3), "CNNModel": Mlp,
        "train_with_optimizer": train, "get_final_accuracy": lambda: 0.9,
        "app": SimpleNamespace(route=lambda path: lambda function: function),
        "request": SimpleNamespace(json=[0.5] * 784), "generate_request_id": iter(range(100)).__next__,
        "load_production_sample": lambda: inputs, "sample_input": inputs,
        "train_one_epoch": train, "train_loader": loader, "test_loader": loader,
        "evaluate_model": lambda model, loader: [model(batch) for batch in loader],
    }  # fmt: skip


def is_a_time(seconds: float) -> bool:
    return 0 < seconds < 100


def check_simple(names: dict[str, Any], printed: str) -> None:
    assert re.fullmatch(r"Peak RAM: [\d.]+ MB\nWall Time: [\d.]+s\n", printed)
    assert names["metrics"].memory.peak_ram_mb > 50


def check_configuration(names: dict[str, Any], printed: str) -> None:
    with names["profiler"].profile("anything"):
        pass
    metrics = names["profiler"].get_metrics()
    assert known(metrics.memory.python_peak_mb) and metrics.memory.leaks == ()
    assert known(metrics.system.cpu_temperature_celsius) or metrics.system.cpu_temperature_celsius.reason


def check_leak(names: dict[str, Any], printed: str) -> None:
    assert len(names["memory_snapshots"]) == 10 and all(megabytes > 50 for megabytes in names["memory_snapshots"])
    assert names["profiler"].get_metrics().memory.leaks == ()


def check_gpu(names: dict[str, Any], printed: str) -> None:
    metrics = names["metrics"]
    if not known(names["gpu_memory"]):
        assert names["gpu_memory"].reason and metrics.memory.peak_gpu_mb.reason
        assert printed == "Peak GPU Memory: nan MB\nGPU Utilization: nan%\n"
    else:
        assert 0 <= names["gpu_memory"] <= 1 and 0 <= metrics.compute.gpu_utilization_percent <= 100


def check_breakdown(names: dict[str, Any], printed: str) -> None:
    lines = printed.splitlines()
    assert {line.split(":")[0] for line in lines} == {
        "complete_pipeline", "data_loading", "preprocessing", "training", "evaluation",
    }  # fmt: skip
    assert sum(float(re.findall(r"([\d.]+)%", line)[0]) for line in lines) == pytest.approx(100, abs=0.5)


def check_bottleneck(names: dict[str, Any], printed: str) -> None:
    assert re.match(r"Bottleneck at line \d+: [\d.]+% of time\n", printed)


def check_flops(names: dict[str, Any], printed: str) -> None:
    assert printed == "Estimated FLOPs: 26,017,792\nFLOPs per parameter: 63.92\n"


def check_throughput(names: dict[str, Any], printed: str) -> None:
    assert set(names["throughput_results"]) == {16, 32, 64, 128}
    assert names["optimal_batch"] in names["throughput_results"] and "samples/s" in printed


def check_architectures(names: dict[str, Any], printed: str) -> None:
    frame = names["comparison_df"]
    assert list(frame.index) == ["simple_mlp", "deep_mlp", "cnn"] and list(frame.columns) == ["memory", "time", "flops"]
    assert frame["time"].map(is_a_time).all() and frame["flops"].isna().all()


def check_hyperparameters(names: dict[str, Any], printed: str) -> None:
    assert len(re.findall(r"LR [\d.]+: Efficiency = [\d.]+ acc/second", printed)) == 3


def check_system(names: dict[str, Any], printed: str) -> None:
    assert re.search(r"Average CPU usage: [\d.]+%\nPeak memory usage: [\d.]+%\n$", printed)
    assert 0 < names["system_report"].peak_memory_percent <= 100


def check_regression(names: dict[str, Any], printed: str) -> None:
    assert [result.verdict for result in names["detector"].results] == ["no baseline"]


def check_production(names: dict[str, Any], printed: str) -> None:
    for _ in range(20):
        assert 0 <= names["predict"]()["prediction"] < 10
    report = names["prod_profiler"].generate_hourly_report()
    assert report["requests_processed"] == 20 and report["sla_violations"] == 0
    assert is_a_time(report["average_latency"]) and is_a_time(report["p95_latency"])


def check_region(name: str) -> Callable[[dict[str, Any], str], None]:
    def check(names: dict[str, Any], printed: str) -> None:
        metrics: Metrics = names["profiler"].get_metrics()
        assert metrics.name == name and is_a_time(metrics.timing.wall_time_s)

    return check


def check_both(names: dict[str, Any], printed: str) -> None:
    # The guide gives no samples, so there is no throughput to tell.
    assert printed == "Training throughput: nan samples/s\nInference throughput: nan samples/s\n"
    assert isinstance(names["training_metrics"].throughput, Unmeasured)


def check_diagnosis(names: dict[str, Any], printed: str) -> None:
    ours = ss.diagnose_performance_issues(names["metrics"])
    assert len(ours) == len(names["issues"])
    assert printed.count("⚠️") == len(ours)


CHECKS: dict[str, Callable[[dict[str, Any], str], None]] = {
    "Simple Profiling": check_simple,
    "Advanced Configuration": check_configuration,
    "Memory Leak Detection": check_leak,
    "GPU Memory Tracking": check_gpu,
    "Detailed Timing Breakdown": check_breakdown,
    "Performance Bottleneck Detection": check_bottleneck,
    "Model Complexity Analysis": check_flops,
    "Throughput Analysis": check_throughput,
    "Model Architecture Comparison": check_architectures,
    "Hyperparameter Impact Analysis": check_hyperparameters,
    "Resource Utilization Tracking": check_system,
    "Automated Performance Regression Detection": check_regression,
    "Production Monitoring Dashboard": check_production,
    "1. Profile Representative Workloads": check_region("realistic_workload"),
    "2. Use Warm-up Runs": check_region("warmed_up_inference"),
    "3. Profile Both Training and Inference": check_both,
    "Common Performance Issues": check_diagnosis,
}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    # The guide closes no profiler; a forgotten one ends with the next collection.
    gc.collect()


def run(code: str) -> dict[str, Any]:
    names = stand_ins()
    # Lines are timed by their file, so it must be one.
    file = Path("block.py").absolute()
    file.write_text(code, encoding="utf-8")
    exec(compile(code, str(file), "exec"), names)
    return names


@pytest.mark.skipif(CORPUS is None, reason="STEPSCOPE_CORPUS names no folder with the guides")
def test_every_block_of_the_guide_has_a_check() -> None:
    assert [block.heading for block in all_blocks()] == list(CHECKS)


@pytest.mark.skipif(CORPUS is None, reason="STEPSCOPE_CORPUS names no folder with the guides")
@pytest.mark.parametrize("block", all_blocks(), ids=str)
def test_block_runs(block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    code = adapted(block.code)
    # The detector of the guide is a sketch: its method is no context manager.
    if "class PerformanceRegressionDetector" in code:
        code = with_our_class(code, "PerformanceRegressionDetector")
    names = run(code)
    CHECKS[block.heading](names, capsys.readouterr().out)


@pytest.mark.skipif(CORPUS is None, reason="STEPSCOPE_CORPUS names no folder with the guides")
def test_the_dashboard_runs_with_our_class_too(capsys: pytest.CaptureFixture[str]) -> None:
    [block] = [block for block in all_blocks() if block.heading == "Production Monitoring Dashboard"]
    names = run(with_our_class(adapted(block.code), "ProductionProfiler"))
    assert isinstance(names["prod_profiler"], ss.ProductionProfiler)
    check_production(names, capsys.readouterr().out)
