"""Writes what was measured as words: every cell and sentence comes from the JSON of `bench/compare`."""

from __future__ import annotations

import statistics


def seconds(times: list[float]) -> str:
    """The median of some times."""
    value = statistics.median(times)
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} s"


def mebibytes(peaks: list[int]) -> str:
    """The largest of some peaks."""
    return f"{max(peaks) / 2**20:,.0f} MiB"


def size(size_bytes: int) -> str:
    """Bytes with a decimal unit."""
    unit, name = (10**9, "GB") if size_bytes >= 10**9 else (10**6, "MB")
    return f"{size_bytes / unit:.1f} {name}"


def trace_title(trace: dict) -> str:
    """The name of a trace with its size, events and limit."""
    limit = trace["memory_limit_bytes"]
    memory = f", {limit / 2**30:g} GiB of memory" if limit else ""
    return f"{_capital(trace['name'])} ({size(trace['size_bytes'])}, {trace['events']:,} events{memory})"


def tool_title(tool: dict) -> str:
    """The name of a tool, with its version if it is known."""
    return " ".join(part for part in (tool["name"], tool["version"]) if part != "–")


def missing(cell: dict) -> str:
    """What a cell without a value has."""
    return f"failed: {cell['reason']}" if cell["status"] == "failed" else "not measured"


def first_answer(cell: dict) -> str:
    """The time of the first answer, or why there is none."""
    return seconds(cell["first_s"]) if cell["status"] == "measured" else missing(cell)


def second_answer(cell: dict) -> str:
    """The time of the second answer; what has no first answer has no second."""
    return seconds(cell["second_s"]) if cell["status"] == "measured" else "not measured"


def peak_memory(cell: dict) -> str:
    """The most memory of a run that answered."""
    return mebibytes(cell["peak_bytes"]) if cell["status"] == "measured" else "not measured"


def events_read(cell: dict, trace: dict) -> str:
    """How many of the events of the JSON a tool has."""
    counts = sorted({answer["events"] for answer in cell["answers"]})
    if cell["status"] != "measured":
        return "not measured"
    return " or ".join(f"{count:,}" for count in counts) + f" of {trace['events']:,}"


def answer_checked(cell: dict, trace: dict) -> str:
    """Whether the count and the time of kernels are right."""
    if cell["status"] != "measured":
        return "not measured"
    expected = (trace["kernels"], trace["kernel_ns"])
    for answer in cell["answers"]:
        if (answer["kernels"], answer["kernel_ns"]) != expected:
            found, wanted = (f"{time / 1e6:,.1f} ms" for time in (answer["kernel_ns"], trace["kernel_ns"]))
            return f"kernel time differs: {found}, expected {wanted} by {trace['against']}"
    return f"kernel time equals {trace['against']}"


def conditions(result: dict) -> str:
    """Machine, date, repetitions and statistic."""
    machine = result["machine"]
    counts = [len(cell["first_s"]) for cell in result["cells"] if cell["status"] == "measured"]
    fewest, most = min(counts), max(counts)
    repetitions = f"{most} repetition{'s' * (most > 1)}" if fewest == most else f"{fewest} to {most} repetitions"
    return (
        f"{result['date']}, {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_bytes'] / 2**30:.0f} GiB, {machine['system']}. "
        f"Time: {result['statistic']} of {repetitions}; memory: the largest. "
        f"Page cache: {result['page_cache']}. "
        f"Load average before: {machine['load_average_before']:.1f}."
    )


def limits(result: dict) -> list[str]:
    """How memory was limited, one sentence per trace."""
    return [
        f"{_capital(trace['name'])}: a process tree is ended above "
        f"{trace['memory_limit_bytes'] / 2**30:g} GiB of resident memory; "
        f"Stepscope runs with `--memory-limit {trace['stepscope_limit']}`."
        for trace in result["traces"]
        if trace["memory_limit_bytes"]
    ]


def copies(result: dict) -> str:
    """How often a real trace is repeated in each of the traces."""
    counts = [f"{trace['name']}: {trace['copies']}" for trace in result["traces"] if trace["copies"]]
    return f"Copies of the real trace: {'; '.join(counts)}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
