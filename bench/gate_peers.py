"""Puts the gate beside other rules, on the same series: how often equal code is called slower, and slower code found.

usage: bench/gate_peers.py [COUNT]     COUNT pairs of each kind (1000)

Each pair has 20 steps a side with noise of 3 %: A/A pairs at correlations 0, 0.3, 0.6 and 0.9 between neighboring
steps, and pairs whose second side is 5 % slower. Needs numpy, scipy and the installed package; apache-otava asks for an
older scipy, so it is given by STEPSCOPE_OTAVA, the Python of an environment that has it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy
import scipy
import scipy.stats

STEPS = 20
NOISE = 0.03
SLOWER = 1.05
ALPHA = 0.02

OTAVA = """
import json, sys
from otava.analysis import compute_change_points
def is_slower(a, b):
    points, _ = compute_change_points(a + b, window_len=50, max_pvalue=0.001, min_magnitude=0.02)
    return any(abs(point.index - len(a)) <= 3 and point.stats.mean_2 > point.stats.mean_1 for point in points)
print(json.dumps([[is_slower(a, b) for a, b in pairs] for pairs in json.load(sys.stdin)]))
"""


def series(random: numpy.random.Generator, correlation: float) -> list[float]:
    noise = [random.normal()]
    for _ in range(STEPS - 1):
        noise.append(correlation * noise[-1] + (1 - correlation**2) ** 0.5 * random.normal())
    return [1e8 * (1 + NOISE * each) for each in noise]


def by_gate(a: list[float], b: list[float]) -> bool:
    from stepscope._native import judge_series

    limits = {"alpha": ALPHA, "report_ratio": 0.02, "exclude_ratio": 0.05}
    judged = judge_series("step", [a], [b], is_higher_better=False, single_run=True, **limits)
    return bool(json.loads(judged)["verdict"] == "regression")


def by_rank_test(a: list[float], b: list[float]) -> bool:
    return bool(scipy.stats.mannwhitneyu(a, b).pvalue <= ALPHA and numpy.median(b) > numpy.median(a))


def by_welch(a: list[float], b: list[float]) -> bool:
    return bool(scipy.stats.ttest_ind(a, b, equal_var=False).pvalue <= ALPHA and numpy.mean(b) > numpy.mean(a))


def by_mean(a: list[float], b: list[float]) -> bool:
    """The rule of pytest-benchmark's `--benchmark-compare-fail=mean:5%`."""
    return bool(numpy.mean(b) > 1.05 * numpy.mean(a))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    random = numpy.random.default_rng(20)
    kinds = {f"A/A, correlation {each:g}": (each, 1.0) for each in (0.0, 0.3, 0.6, 0.9)}
    kinds["5 % slower"] = (0.0, SLOWER)
    pairs = {
        kind: [(series(random, r), [factor * step for step in series(random, r)]) for _ in range(count)]
        for kind, (r, factor) in kinds.items()
    }
    rules = {
        "stepscope check": by_gate,
        f"scipy {scipy.__version__}, Mann-Whitney, p ≤ 0.02": by_rank_test,
        f"scipy {scipy.__version__}, Welch's t, p ≤ 0.02": by_welch,
        "pytest-benchmark, mean:5%": by_mean,
    }
    found = {name: [sum(rule(*pair) for pair in each) for each in pairs.values()] for name, rule in rules.items()}
    if otava := os.environ.get("STEPSCOPE_OTAVA"):
        said = subprocess.run(
            [otava, "-c", OTAVA], input=json.dumps(list(pairs.values())), capture_output=True, text=True, check=True
        )
        found["apache-otava, change at the seam"] = [sum(each) for each in json.loads(said.stdout)]
    print("| called slower | " + " | ".join(pairs) + " |")
    print("|---|" + "---:|" * len(pairs))
    for name, counts in found.items():
        print(f"| {name} | " + " | ".join(f"{each / count:.1%}" for each in counts) + " |")


if __name__ == "__main__":
    main()
