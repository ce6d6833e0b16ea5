"""How often the pytest plugin is right, on simulated times whose truth is known.

python bench/pytest_gate.py [--sessions 200] [--seed 1] [--max-regression SHARE]: needs the wheel of Stepscope.
python bench/pytest_gate.py --real-time: measures a real function on this machine instead.

Each session is compared with 10 saved runs of 30 rounds. Noise: 2 % between rounds, 1 % between runs. Rounds go through
the plugin's own loop with a simulated clock, and its own function judges them. Ends with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from statistics import median

from stepscope.testing.measurement import Measurement
from stepscope.testing.verdict import judge, percent

SAVED_RUNS = 10
ROUNDS = 30
NOISE_OF_ROUNDS = 0.02
NOISE_OF_RUNS = 0.01
STEP_S = 0.010
SLOWER = 1.08

MOST_FALSE_ALARMS = 0.02
LEAST_FOUND = 0.95

REAL_SESSIONS = 30
WORK = 20_000


class SimulatedClock:
    """A clock that only work moves."""

    def __init__(self, numbers: random.Random) -> None:
        self._numbers = numbers
        self._now_s = 0.0
        self._run = 1 + NOISE_OF_RUNS * numbers.gauss(0, 1)

    def work(self, seconds: float) -> None:
        self._now_s += seconds * self._run * (1 + NOISE_OF_ROUNDS * self._numbers.gauss(0, 1))

    def __call__(self) -> float:
        return self._now_s


def measured(clock: Callable[[], float], work: Callable[[], object]) -> list[float]:
    """Times of one run, by the loop of the plugin."""
    with Measurement("step", ROUNDS, 1, clock) as rounds:
        for _ in rounds:
            work()
    return rounds.values_s


def simulated(numbers: random.Random, slower: float) -> list[float]:
    """Times of one simulated run."""
    clock = SimulatedClock(numbers)
    return measured(clock, lambda: clock.work(STEP_S * slower))


def verdicts(sessions: int, seed: int, slower: float, limit: float | None) -> Counter[str]:
    """Verdicts on sessions, each with saved runs of its own."""
    found: Counter[str] = Counter()
    for session in range(sessions):
        numbers = random.Random(f"{seed} {slower} {session}")
        saved = [simulated(numbers, 1) for _ in range(SAVED_RUNS)]
        found[judge("step", saved, simulated(numbers, slower), limit).word] += 1
    return found


def row(label: str, found: Counter[str]) -> None:
    counts = [f"{word} {found[word]}" for word in ("pass", "improvement", "regression", "inconclusive")]
    print(f"{label}: {', '.join(counts)}")


def simulate(sessions: int, seed: int, limit: float | None) -> int:
    equal, slower = (verdicts(sessions, seed, factor, limit) for factor in (1, SLOWER))
    row(f"equal code, {sessions} simulated sessions", equal)
    row(f"{share(SLOWER - 1)} slower code, {sessions} simulated sessions", slower)
    false_alarms, right = equal["regression"] / sessions, slower["regression"] / sessions
    passed = slower["pass"] + slower["improvement"]
    is_quiet = false_alarms <= MOST_FALSE_ALARMS
    print(f"false alarms {share(false_alarms)} (at most {share(MOST_FALSE_ALARMS)}): {said(is_quiet)}")
    print(f"found {share(right)} (at least {share(LEAST_FOUND)}): {said(right >= LEAST_FOUND)}")
    print(f"slower code that passed {passed} (none; the rest is inconclusive): {said(passed == 0)}")
    return 0 if is_quiet and right >= LEAST_FOUND and passed == 0 else 1


def share(ratio: float) -> str:
    return f"{100 * ratio:.3g} %"


def said(is_met: bool) -> str:
    return "yes" if is_met else "NO"


def measure_here(seed: int, limit: float | None) -> int:
    """A real function on this machine. No bar: what else the machine does is not known.

    Saved runs one after the other know the noise of that moment only, so the same sessions are judged twice.
    """
    sizes = {"equal code": WORK, f"{share(SLOWER - 1)} more work": round(WORK * SLOWER)}

    def one(size: int) -> list[float]:
        return measured(time.perf_counter, lambda: sum(at * at for at in range(size)))

    before = [one(WORK) for _ in range(SAVED_RUNS)]
    plan = ["saved"] * SAVED_RUNS + list(sizes) * REAL_SESSIONS
    random.Random(seed).shuffle(plan)
    runs = [(label, one(sizes.get(label, WORK))) for label in plan]
    spread = [values for label, values in runs if label == "saved"]
    for how, saved in (("saved one after the other", before), ("saved among the sessions", spread)):
        for label in sizes:
            judged = [judge("step", saved, values, limit) for of, values in runs if of == label]
            row(f"{how}, {label}, {len(judged)} sessions", Counter(verdict.word for verdict in judged))
            shifts = sorted(verdict.shift for verdict in judged if verdict.shift is not None)
            print(f"  change {percent(shifts[0])} to {percent(shifts[-1])}, median {percent(median(shifts))}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=200, help="Sessions of equal code, and as many of slower code")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the noise, and of the order of real sessions")
    parser.add_argument("--max-regression", type=float, help="Smallest slowdown that is a regression (default: 0.02)")
    parser.add_argument("--real-time", action="store_true", help="Measure a real function on this machine")
    options = parser.parse_args()
    if options.real_time:
        return measure_here(options.seed, options.max_regression)
    return simulate(options.sessions, options.seed, options.max_regression)


if __name__ == "__main__":
    sys.exit(main())
