"""Where nothing else is installed: what an import costs, and that it imports nothing else. A script, as pytest is not
there either."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

MOST_MS = 60
TURNS = 20

FOREIGN = """
import sys, sysconfig
before = set(sys.modules)
import stepscope
folder = sysconfig.get_path("purelib")
added = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items() if name not in before}
print(*sorted({name.split(".")[0] for name, file in added.items() if file.startswith(folder)} - {"stepscope"}))
"""


def output(code: str) -> str:
    return subprocess.run([sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True).stdout


def milliseconds(code: str) -> float:
    begun = time.perf_counter()
    output(code)
    return 1000 * (time.perf_counter() - begun)


def main() -> int:
    foreign = output(FOREIGN).split()
    pairs = [(milliseconds("import stepscope"), milliseconds("pass")) for _ in range(TURNS)]
    cost = statistics.median(pair[0] for pair in pairs) - statistics.median(pair[1] for pair in pairs)
    native = milliseconds("import stepscope._native") - statistics.median(pair[1] for pair in pairs)
    print(f"import stepscope: {cost:.1f} ms (at most {MOST_MS}); its engine, when first used: {native:.1f} ms")
    print(f"third-party modules imported: {' '.join(foreign) or 'none'}")
    return 1 if cost > MOST_MS or foreign else 0


if __name__ == "__main__":
    sys.exit(main())
