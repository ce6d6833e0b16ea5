"""What a region costs a Python program. Run it with the Python that has the release wheel, torch and `stepscope_empty`
(see `bench/README.md`): `python bench/regions.py [region] [loop] [long]`, by default the first two.

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
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import stepscope as ss


def _ns_each(count: int, use: Callable[[int], None]) -> float:
    start = time.perf_counter_ns()
    use(count)
    return (time.perf_counter_ns() - start) / count


def region() -> None:
    """One region against an empty context manager made with PyO3, and against `record_function` while it records."""
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
    print(f"record_function             {theirs:8.1f} ns   a region takes {beside_torch:.3f} of it   (at most 0.200)")


def loop() -> None:
    """A training loop with regions against the same without, in interleaved pairs."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data, target = torch.randn(64, 256), torch.randint(0, 10, (64,))

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(data), target).backward()
        optimizer.step()

    profiler = ss.PerformanceProfiler()
    for _ in range(200):
        step()
    step_s = min(_ns_each(50, lambda count: [step() for _ in range(count)] and None) for _ in range(20)) / 1e9

    def train(steps: int, regions: int, profile: Callable[[str], AbstractContextManager[Any]] | None) -> float:
        start = time.perf_counter()
        for _ in range(steps):
            step()
            if profile is not None:
                for _ in range(regions):
                    with profile("region"):
                        pass
        return time.perf_counter() - start

    for rate, limit in ((10_000, 1.01), (100_000, 1.06)):
        # As many regions in each step as make the rate; several steps share one where a step is short.
        regions = max(1, round(rate * step_s))
        steps = round(0.5 / step_s)
        pairs = []
        for number in range(40):
            order = [None, profiler.profile] if number % 2 else [profiler.profile, None]
            took = {profile is not None: train(steps, regions, profile) for profile in order}
            pairs.append(took[True] / took[False])
        actual = regions / step_s
        rng = random.Random(0)
        bootstraps = sorted(statistics.median(rng.choices(pairs, k=len(pairs))) for _ in range(2_000))
        upper = bootstraps[int(0.975 * len(bootstraps))]
        middle = statistics.median(pairs)
        print(f"{actual:9,.0f} regions a second   {middle:.4f}, at most {upper:.4f}   (at most {limit})")


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
        {"region": region, "loop": loop, "long": long}[name]()
