"""Counts false alarms of the gate on a real job: five baseline runs of torch on the CPU, then the same job again.

usage: bench/gate_unchanged.py [COUNT]     COUNT unchanged runs (20); needs the wheel and torch, and nothing beside it

Ends with 1 if more than one of 20 is called a regression.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

JOB = Path(__file__).parents[1] / "python" / "tests" / "gate_job.py"
RECORD = "run --profiling.unit steps --profiling.wait 3 --profiling.active 20".split()
VERDICTS = {0: "pass", 1: "regression", 4: "inconclusive"}


def stepscope(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "stepscope", *arguments], cwd=folder, capture_output=True, text=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for run in range(5):
            stepscope(folder, *RECORD, "--output", f"base-{run}", str(JOB)).check_returncode()
        stepscope(folder, "baseline", "save", *(f"base-{run}" for run in range(5)), "-o", "base.json").check_returncode()
        verdicts: Counter[str] = Counter()
        for run in range(count):
            stepscope(folder, *RECORD, "--output", f"again-{run}", str(JOB)).check_returncode()
            checked = stepscope(folder, "check", f"again-{run}", "--baseline", "base.json")
            verdicts[VERDICTS.get(checked.returncode, checked.stderr)] += 1
            print(checked.stdout.splitlines()[0])
    print(dict(verdicts))
    sys.exit(1 if verdicts["regression"] > count // 20 else 0)


if __name__ == "__main__":
    main()
