"""FLOPs of torch's operators, exact, forward and backward."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import stepscope as ss  # noqa: E402
from stepscope.performance import ComputeMetrics, Unmeasured, known  # noqa: E402

nn = torch.nn
torch.set_num_threads(1)


def compute_of(work: Callable[[], Any]) -> ComputeMetrics:
    with ss.PerformanceProfiler(estimate_flops=True) as profiler:
        with profiler.profile("work"):
            work()
        return profiler.get_metrics().compute


def two_layers() -> Any:
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))


def test_the_example_of_the_guide_is_exact() -> None:
    model, x = two_layers(), torch.randn(32, 784)
    compute = compute_of(lambda: model(x))
    assert compute.estimated_flops == 26_017_792 and isinstance(compute.estimated_flops, int)
    assert compute.parameters == 407_050
    assert f"{compute.flops_per_param:.2f}" == "63.92"
    assert compute.flops_per_second > 0
    # The activation is the one operator without a formula.
    assert compute.calls_without_flops == 1


FORWARD = 26_017_792


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_without_gradients_it_is_the_same(context: Any) -> None:
    model, x = two_layers(), torch.randn(32, 784)

    def work() -> None:
        with context():
            model(x)
            torch.matmul(x, x.T)

    compute = compute_of(work)
    assert compute.estimated_flops == FORWARD + 2 * 32 * 784 * 32
    assert compute.parameters == 407_050


def test_backward_counts() -> None:
    model, x = two_layers(), torch.randn(32, 784)
    # Two products for each layer, but the first needs no gradient of its input.
    first, second = 2 * 32 * 784 * 512, 2 * 32 * 512 * 10
    assert compute_of(lambda: model(x).sum().backward()).estimated_flops == FORWARD + first + 2 * second
    loss = model(x).sum()
    assert compute_of(loss.backward).estimated_flops == first + 2 * second


def test_convolutions_and_attention() -> None:
    image, layer = torch.randn(2, 3, 16, 16), nn.Conv2d(3, 8, 3, padding=1)
    convolution = 2 * 2 * 8 * 16 * 16 * 27
    compute = compute_of(lambda: layer(image).sum().backward())
    assert (compute.estimated_flops, compute.parameters) == (2 * convolution, 8 * 27 + 8)
    query, key, value = (torch.randn(2, 4, length, 16, requires_grad=True) for length in (8, 12, 12))
    forward, backward = 2 * 2 * 4 * 8 * 12 * 32, 2 * 2 * 4 * 8 * 12 * 80
    attention = compute_of(lambda: nn.functional.scaled_dot_product_attention(query, key, value).sum().backward())
    assert attention.estimated_flops == forward + backward


def test_they_agree_with_torchs_own_counter() -> None:
    counter = pytest.importorskip("torch.utils.flop_counter")
    model = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    x = torch.randn(2, 10, 32)

    def work() -> None:
        model(x).sum().backward()

    with counter.FlopCounterMode(display=False) as theirs:
        work()
    assert compute_of(work).estimated_flops == theirs.get_total_flops() > 0


def test_a_shared_or_viewed_parameter_counts_once() -> None:
    layer = nn.Linear(4, 4, bias=False)
    viewed = layer.weight.t()

    def work() -> None:
        layer(layer(torch.randn(2, 4)))
        torch.randn(2, 4) @ viewed

    assert compute_of(work).parameters == 16


def test_regions_count_what_is_inside_of_them() -> None:
    a, b = torch.randn(8, 8), torch.randn(8, 8)
    one = 2 * 8 * 8 * 8
    with ss.PerformanceProfiler(estimate_flops=True) as profiler:

        def elsewhere() -> None:
            with profiler.profile("elsewhere"):
                a @ b
                a @ b

        with profiler.profile("outer"):
            a @ b
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            for _ in range(2):
                with profiler.profile("inner"):
                    a @ b
        a @ b
        flops = {name: profiler.get_metrics(name).compute.estimated_flops for name in ("outer", "inner", "elsewhere")}
    # `inner` speaks of its last call.
    assert flops == {"outer": 3 * one, "inner": one, "elsewhere": 2 * one}


def test_nothing_to_count_is_zero_and_not_counted_is_nan() -> None:
    compute = compute_of(lambda: None)
    assert compute.estimated_flops == 0 and isinstance(compute.flops_per_param, Unmeasured)
    with ss.PerformanceProfiler() as profiler:
        with profiler.profile("uncounted"):
            pass
        flops = profiler.get_metrics().compute.estimated_flops
    assert not known(flops) and f"{flops:,}" == "nan"
