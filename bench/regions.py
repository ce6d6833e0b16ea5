"""What a region costs a Python program. Run it with the Python that has the release wheel, torch and `stepscope_empty`
(see `bench/README.md`): `python bench/regions.py [region] [loop] [parts] [long]`, by default the first two.

Ratios are taken side by side in one run, because machines are noisy.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import stepscope as ss


def _ns_each(count: int, use: Callable[[int], None]) -> float:
    start = time.perf_counter_ns()
    use(count)
    return (time.perf_counter_ns() - start) / count


def _ns_each_rested(use: Callable[[int], None]) -> float:
    """With pauses in which the rings are emptied: a region that is dropped is a cheap one."""
    return statistics.median((_ns_each(5_000, use), time.sleep(0.03))[0] for _ in range(100))


def region() -> None:
    """One region against an empty context manager made with PyO3, and against `record_function` while torch records: then a region is one, too."""
    import stepscope_empty
    import torch

    empty, profiler = stepscope_empty.Empty(), ss.PerformanceProfiler()

    def user(of: Any) -> Callable[[int], None]:
        def use(count: int) -> None:
            for _ in range(count):
                with of.profile("region"):
                    pass

        return use

    def annotate(count: int) -> None:
        for _ in range(count):
            with torch.profiler.record_function("region"):
                pass

    rounds = [(_ns_each(5_000, user(empty)), _ns_each(5_000, user(profiler)), time.sleep(0.05)) for _ in range(300)]
    nothing, ours = (statistics.median(column) for column in list(zip(*rounds, strict=True))[:2])
    ratio = statistics.median(ours / nothing for nothing, ours, _ in rounds)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        pairs = [(_ns_each(2_000, annotate), _ns_each(2_000, user(profiler))) for _ in range(50)]
    beside_torch = statistics.median(ours / theirs for theirs, ours in pairs)
    print(f"an empty context manager    {nothing:8.1f} ns")
    print(f"a region                    {ours:8.1f} ns   {ratio:.2f} of it   (at most 2.00)")
    theirs = statistics.median(theirs for theirs, _ in pairs)
    print(f"record_function             {theirs:8.1f} ns   a region takes {beside_torch:.3f} of it   (at most 1.500)")


def loop() -> None:
    """A training loop with regions against the same without, in interleaved pairs.

    Regions come after the forward pass, the backward pass and the optimizer, a third of them each.
    """
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(512, 10))
    optimizer = torch.optim.Adam(model.parameters())
    data, target = torch.randn(64, 512), torch.randint(0, 10, (64,))
    profiler = ss.PerformanceProfiler()

    def use(regions: int) -> None:
        for _ in range(regions):
            with profiler.profile("region"):
                pass

    def step(regions: int) -> float:
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data), target)
        use(regions)
        loss.backward()
        use(regions)
        optimizer.step()
        use(regions)
        return time.perf_counter() - start

    step_s = statistics.median(step(0) for _ in range(100))
    steps = round(1 / step_s)
    print(f"a step takes {step_s * 1e3:.2f} ms")
    for rate, limit in ((10_000, 1.01), (100_000, 1.06)):
        regions = round(rate * step_s / 3)
        pairs = []
        for _ in range(40):
            # Steps take turns within a pair, so that both halves have the same weather.
            took = [(step(regions), step(0)) if number % 2 else (step(0), step(regions))[::-1] for number in range(steps)]
            pairs.append(sum(with_regions for with_regions, _ in took) / sum(without for _, without in took))
        rng = random.Random(0)
        bootstraps = sorted(statistics.median(rng.choices(pairs, k=len(pairs))) for _ in range(2_000))
        upper, actual = bootstraps[int(0.975 * len(bootstraps))], 3 * regions / step_s
        middle = statistics.median(pairs)
        print(f"{actual:9,.0f} regions a second   {middle:.4f}, at most {upper:.4f}   (at most {limit})")


def parts() -> None:
    """What each part costs where it costs something; the table of `docs/profiler/cost.md`."""
    import cProfile
    import tempfile

    import torch

    torch.set_num_threads(1)
    matrix = torch.ones(8, 8)

    def regions(profiler: ss.PerformanceProfiler) -> Callable[[int], None]:
        def use(count: int) -> None:
            for _ in range(count):
                with profiler.profile("region"):
                    pass

        return use

    def operators(count: int) -> None:
        for _ in range(count):
            matrix + matrix

    def allocations(count: int) -> None:
        kept = [object() for _ in range(count)]
        del kept

    def lines(count: int) -> None:
        for _ in range(count):
            pass

    def call() -> None:
        pass

    def calls(count: int) -> None:
        for _ in range(count):
            call()

    def inside(profiler: ss.PerformanceProfiler, act: Callable[[int], None]) -> Callable[[int], None]:
        def use(count: int) -> None:
            with profiler.profile("outer"):
                act(count)

        return use

    def profiled(count: int) -> None:
        with cProfile.Profile():
            calls(count)

    def compare(name: str, without: Callable[[int], None], with_it: Callable[[int], None]) -> None:
        pairs = [(_ns_each(20_000, without), _ns_each(20_000, with_it)) for _ in range(15)]
        before, after = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"{name:36} {after - before:8.0f} ns more than {before:.0f} ns")

    # One after the other: some slow down everything as long as they are there.
    with ss.PerformanceProfiler(estimate_flops=True) as profiler:
        compare("an operator with estimate_flops", operators, inside(profiler, operators))
    with ss.PerformanceProfiler(enable_line_profiling=True) as profiler:
        compare("a line with enable_line_profiling", lines, inside(profiler, lines))
    compare("a call with cProfile", calls, profiled)
    before = statistics.median(_ns_each(20_000, allocations) for _ in range(15))
    with ss.PerformanceProfiler(detailed_memory=True) as profiler:
        after = statistics.median(_ns_each(20_000, inside(profiler, allocations)) for _ in range(15))
    print(f"{'an object with detailed_memory':36} {after - before:8.0f} ns more than {before:.0f} ns")
    plain = ss.PerformanceProfiler()
    with tempfile.TemporaryDirectory() as folder:
        without = _ns_each_rested(regions(plain))
        recording = ss.PerformanceProfiler(record=folder, record_limit_mb=4000)
        with_it = _ns_each_rested(regions(recording))
        recording.close()
    print(f"{'a region with record':36} {with_it - without:8.0f} ns more than {without:.0f} ns")


def long() -> None:
    """Ten minutes at 100,000 regions a second, recorded: memory above what the program had before."""
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / "stepscope-long"
    seconds = float(os.environ.get("STEPSCOPE_SECONDS", "600"))
    profiler = ss.PerformanceProfiler(record=folder, record_limit_mb=4000)
    region = profiler.profile("region")
    before = profiler.get_current_memory()
    start = time.perf_counter()
    count, highest = 0, before
    while (now := time.perf_counter() - start) < seconds:
        # A thousandth of a second's worth, then as long a rest as the rate allows.
        for _ in range(100):
            with region:
                pass
        count += 100
        if count % 100_000 == 0:
            highest = max(highest, profiler.get_current_memory())
        ahead = count / 100_000 - now
        if ahead > 0:
            time.sleep(ahead)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    from stepscope import _native

    counts = _native.recording_counts()
    profiler.close()
    dropped = sum(value for name, value in counts.items() if name.startswith("dropped"))
    print(f"{count:,} regions in {seconds:.0f} s: {peak - before:.1f} MB above {before:.1f} MB   (at most 64)")
    print(f"{counts['bytes_written'] / 1e6:,.0f} MB written, {dropped:,} dropped")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["region", "loop"]:
        {"region": region, "loop": loop, "parts": parts, "long": long}[name]()
