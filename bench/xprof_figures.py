"""Puts metrics of Stepscope and of xprof side by side: steps, kernels, HLO operations, input pipeline, memory.

python bench/xprof_figures.py [--stepscope PROGRAM] [--json FILE] TRACE...: needs `pip install xprof==2.24.2`. TRACE is
an XPlane file, plain or compressed with gzip. Prints one Markdown table per trace; --json writes the rows to FILE, too.
A cell is `–` where a tool has no such value. docs/compare.md explains why values differ.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from xprof.convert import raw_to_tool_data

Value = int | float | str | None
Rows = list[dict[str, Any]]
# Count and nanoseconds by name.
Totals = dict[str, tuple[int, float]]

# Class of the overview, columns of Stepscope's `step_overview`, column of xprof.
CLASSES = (
    ("device compute", ("device_compute_ns",), "deviceComputeTimeMs"),
    ("device to device", ("device_to_device_ns",), "deviceToDeviceTimeMs"),
    ("device collectives", ("device_collectives_ns",), "deviceCollectivesTimeMs"),
    ("host compute", ("host_compute_ns",), "hostComputeTimeMs"),
    ("kernel launch", ("kernel_launch_ns",), "kernelLaunchTimeMs"),
    ("input", ("input_wait_ns", "host_to_device_ns"), "infeedTimeMs"),
    ("output", ("output_ns",), "outfeedTimeMs"),
    ("compile", ("compile_ns",), "compileTimeMs"),
    ("all others", ("all_others_ns",), "otherTimeMs"),
)
LONGEST_NAME = 48


@dataclass(frozen=True)
class Row:
    section: str
    metric: str
    unit: str
    stepscope: Value
    xprof: Value
    # Replaces the difference of the two values.
    note: str = ""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drops what xprof logs: it writes to the file descriptor itself."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "w") as sink:
        os.dup2(sink.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class Xprof:
    """The tools of xprof on one trace, which it finds alone in a folder, as it writes its caches beside it."""

    def __init__(self, trace: Path) -> None:
        self._trace = trace
        self.failed: dict[str, str] = {}

    def _json(self, tool: str) -> Any:
        try:
            with quiet():
                content, _ = raw_to_tool_data.xspace_to_tool_data([str(self._trace)], tool, {})
            if content is None:
                raise ValueError("no answer")
            return json.loads(content)
        except (ValueError, RuntimeError, AssertionError) as error:
            self.failed[tool] = f"{type(error).__name__}: {error}"
            return None

    def rows(self, tool: str, column: str) -> Rows:
        """The rows of the first table of a tool that has this column."""
        tables = self._json(tool) or []
        for table in tables if isinstance(tables, list) else [tables]:
            names = [cell["id"] for cell in table.get("cols", [])]
            if column in names:
                cells = [[(cell or {}).get("v") for cell in row["c"]] for row in table.get("rows", [])]
                return [dict(zip(names, row, strict=True)) for row in cells]
        return []

    def allocators(self) -> dict[str, dict[str, Any]]:
        found = (self._json("memory_profile") or {}).get("memoryProfilePerAllocator", {})
        return {name: profile["profileSummary"] for name, profile in found.items()}


class Stepscope:
    """The commands of Stepscope on one trace, with a cache beside it."""

    def __init__(self, program: str, trace: Path) -> None:
        self._program = program
        self._trace = trace
        self._environment = {**os.environ, "STEPSCOPE_CACHE": str(trace.parent / "cache")}

    def command(self, name: str, *args: str) -> dict[str, Any]:
        call = [self._program, name, str(self._trace), *args, "--format", "json", "--quiet"]
        done = subprocess.run(call, capture_output=True, text=True, env=self._environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(call)}: exit code {done.returncode}: {done.stderr.strip()}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def rows(self, name: str) -> Rows:
        rows: Rows = self.command(name, "--limit", "0")["rows"]
        return rows

    def sql(self, statement: str) -> Rows:
        rows: Rows = self.command("sql", statement, "--limit", "0")["rows"]
        return rows


def mean(values: list[float]) -> int | None:
    return round(sum(values) / len(values)) if values else None


def longest(values: list[float]) -> int | None:
    return round(max(values)) if values else None


def share(part: list[float], whole: list[float]) -> float | None:
    return sum(part) / sum(whole) if sum(whole) else None


def totals(rows: Rows, name: str, count: str, time: str, unit_ns: int) -> Totals:
    """Adds up rows of one name: xprof has one row per name, launch size and operator or program."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    for row in rows:
        sums[row[name]][0] += row[count]
        sums[row[name]][1] += row[time] * unit_ns
    return {key: (int(number), total) for key, (number, total) in sums.items()}


def each_name(one: Totals, other: Totals) -> str:
    """Whether count and time of every name are equal, apart from rounding each call to nanoseconds."""

    def is_equal(name: str) -> bool:
        (count, time_ns), (other_count, other_ns) = one.get(name, (0, 0)), other.get(name, (0, 0))
        return count == other_count and abs(time_ns - other_ns) <= max(1, count)

    differ = sum(not is_equal(name) for name in one.keys() | other.keys())
    if not one or not other:
        return ""
    return f"{differ} differ in count or time" if differ else "each equal within 1 ns per call"


def listed(section: str, what: str, stepscope: Totals, xprof: Totals, time: str, lines: tuple[int, int]) -> list[Row]:
    """Number, count, total and the largest entry of a list by name."""

    def pair(make: Callable[[Totals], Value]) -> tuple[Value, Value]:
        return (make(stepscope) if stepscope else None, make(xprof) if xprof else None)

    def first(found: Totals) -> str:
        return max(found, key=lambda name: found[name][1])

    return [
        Row(section, "rows of the table", "", lines[0] or None, lines[1] or None),
        Row(section, "names", "", *pair(len), each_name(stepscope, xprof)),
        Row(section, what, "", *pair(lambda found: sum(count for count, _ in found.values()))),
        Row(section, f"{time}, sum", "ns", *pair(lambda found: round(sum(total for _, total in found.values())))),
        Row(section, "longest", "", *pair(first)),
        Row(section, f"{time} of the longest", "ns", *pair(lambda found: round(found[first(found)][1]))),
    ]


def step_rows(stepscope: Stepscope, xprof: Xprof) -> list[Row]:
    mine = stepscope.sql(
        'SELECT s.source, s.dur_ns, o.* FROM steps s JOIN step_overview o USING (rank, "window", step) ORDER BY step'
    )
    theirs = [row for row in xprof.rows("overview_page", "stepnum") if row.get("stepTimeMs")]
    durations = [row["dur_ns"] for row in mine]
    their_durations = [row["stepTimeMs"] * 1e6 for row in theirs]
    rows = [
        Row("steps", "source", "", mine[0]["source"] if mine else None, None),
        Row("steps", "steps", "", len(mine), len(theirs)),
        Row("steps", "step time, mean", "ns", mean(durations), mean(their_durations)),
        Row("steps", "step time, max", "ns", longest(durations), longest(their_durations)),
    ]
    for name, columns, column in CLASSES:
        parts = [sum(row[part] for part in columns) for row in mine]
        their_parts = [row.get(column, 0) * 1e6 for row in theirs]
        rows.append(Row("steps", f"{name}, mean", "ns", mean(parts), mean(their_parts)))
        if name == "input":
            share_of = (share(parts, durations), share(their_parts, their_durations))
            rows.append(Row("steps", "input, share", "%", *share_of))
    return rows


def kernel_rows(stepscope: Stepscope, xprof: Xprof) -> list[Row]:
    mine = stepscope.rows("kernels")
    theirs = xprof.rows("kernel_stats", "kernel_name")
    kernels = totals(mine, "name", "count", "total_ns", 1)
    their_kernels = totals(theirs, "kernel_name", "occurrences", "total_duration_us", 1000)
    rows = listed("kernels", "kernels", kernels, their_kernels, "time", (len(mine), len(theirs)))
    mine = stepscope.rows("hlo")
    theirs = xprof.rows("hlo_stats", "hlo_op_name")
    operations = totals(mine, "operation", "count", "self_ns", 1)
    their_operations = totals(theirs, "hlo_op_name", "occurrences", "total_self_time", 1000)
    return rows + listed("HLO", "operations", operations, their_operations, "self time", (len(mine), len(theirs)))


def input_rows(stepscope: Stepscope, xprof: Xprof) -> list[Row]:
    mine = [row for row in stepscope.rows("input") if row["name"].startswith("Iterator::")]
    theirs = xprof.rows("input_pipeline_analyzer", "opName")
    stages = totals(mine, "name", "calls", "total_ns", 1)
    their_stages = totals(theirs, "opName", "count", "timeInMs", 1_000_000)
    rows = listed("input", "calls of stages", stages, their_stages, "time", (len(mine), len(theirs)))
    own = sum(row["self_ns"] for row in mine) if mine else None
    their_own = round(sum(row["selfTimeInMs"] for row in theirs) * 1e6) if theirs else None
    return [*rows, Row("input", "self time, sum", "ns", own, their_own)]


def memory_rows(stepscope: Stepscope, xprof: Xprof) -> list[Row]:
    """Peaks and their times are those of `memory`; the rest is in the arguments of `memory_events` only."""
    devices = {row["device"]: row for row in stepscope.command("memory", "--limit", "0")["devices"]}
    events = stepscope.sql(
        "SELECT allocator, device_type, device_id, total_allocated_bytes AS total_bytes, args FROM memory_events"
        " WHERE allocator IS NOT NULL ORDER BY ts_ns, position"
    )
    peaks: dict[str, dict[str, Any]] = {}
    lifetime: dict[str, int] = defaultdict(int)
    for event in events:
        name = event["allocator"]
        event["args"] = json.loads(event["args"] or "{}")
        lifetime[name] = max(lifetime[name], event["args"].get("peak_bytes_in_use", 0))
        if name not in peaks or event["total_bytes"] > peaks[name]["total_bytes"]:
            peaks[name] = event
    summaries = xprof.allocators()
    rows = []
    for name in sorted(peaks.keys() | summaries.keys()):
        peak, summary = peaks.get(name), summaries.get(name, {})
        kind = {1: "gpu", 6: "gpu", 9: "xla"}.get(peak["device_type"]) if peak else None
        device = devices.get(f"{kind}{peak['device_id']}" if peak and kind else name, {})
        args = peak["args"] if peak else {}
        stats = summary.get("peakStats", {})
        free = args.get("bytes_available")
        their_peak = int(stats.get("peakBytesInUse", 0)) or None
        their_capacity = int(summary.get("memoryCapacity", 0)) or None
        their_lifetime = int(summary.get("peakBytesUsageLifetime", 0)) or None
        their_time_ns = int(summary.get("peakStatsTimePs", 0)) // 1000 or None
        section = f"memory of {name}"
        rows += [
            Row(section, "peak", "B", device.get("peak_allocated_bytes"), their_peak),
            Row(section, "capacity", "B", peak["total_bytes"] + free if peak and free else None, their_capacity),
            Row(section, "fragmentation at the peak", "%", args.get("fragmentation"), stats.get("fragmentation")),
            Row(section, "lifetime peak", "B", lifetime.get(name) or None, their_lifetime),
            Row(section, "time of the peak", "ns", device.get("peak_allocated_from_start_ns"), their_time_ns),
        ]
    return rows


def compared(program: str, trace: Path) -> dict[str, Any]:
    """All rows about one trace."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / trace.name.removesuffix(".gz")
        with (gzip.open if trace.suffix == ".gz" else open)(trace, "rb") as source, plain.open("wb") as target:
            shutil.copyfileobj(source, target)
        stepscope, xprof = Stepscope(program, plain), Xprof(plain)
        rows = [row for part in (step_rows, kernel_rows, input_rows, memory_rows) for row in part(stepscope, xprof)]
    return {"trace": trace.name, "rows": [asdict(row) for row in rows], "failed": xprof.failed}


def shown(value: Value, unit: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        plain = value if len(value) <= LONGEST_NAME else value[: LONGEST_NAME - 1] + "…"
        return f"`{plain.replace('|', '¦')}`"
    if unit == "ns":
        return f"{value / 1e6:,.6f} ms"
    if unit == "%":
        return f"{100 * value:.2f} %"
    return f"{value:,}" + (f" {unit}" if unit else "")


def difference(row: dict[str, Any]) -> str:
    mine, theirs = row["stepscope"], row["xprof"]
    if row["note"] or mine is None or theirs is None:
        return str(row["note"])
    if shown(mine, row["unit"]) == shown(theirs, row["unit"]):
        return "equal"
    if isinstance(mine, str) or isinstance(theirs, str):
        return "differs"
    sign = "+" if mine > theirs else "−"
    return sign + shown(abs(mine - theirs), row["unit"])


def print_markdown(answer: dict[str, Any]) -> None:
    print(f"## {answer['trace']}\n\n| | metric | Stepscope | xprof | Stepscope − xprof |\n|---|---|---|---|---|")
    for row in answer["rows"]:
        if row["stepscope"] is not None or row["xprof"] is not None:
            cells = [shown(row[tool], row["unit"]) for tool in ("stepscope", "xprof")]
            print(f"| {' | '.join([row['section'], row['metric'], *cells, difference(row)])} |")
    for tool, reason in answer["failed"].items():
        print(f"\n{tool} of xprof failed: {reason}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description="Put metrics of Stepscope and of xprof side by side")
    parser.add_argument("--stepscope", default="stepscope", metavar="PROGRAM", help="run this Stepscope")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every row to FILE")
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE", help="XPlane file, plain or gzip")
    options = parser.parse_args()
    answers = []
    for trace in options.traces:
        answers.append(compared(options.stepscope, trace))
        print_markdown(answers[-1])
    if options.json:
        printed = subprocess.run([options.stepscope, "--version"], capture_output=True, text=True, check=True).stdout
        versions = {"stepscope": printed.split()[-1], "xprof": version("xprof")}
        options.json.write_text(json.dumps({"versions": versions, "traces": answers}, indent=1) + "\n")


if __name__ == "__main__":
    main()
