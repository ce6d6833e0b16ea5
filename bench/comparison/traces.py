"""The traces of the comparison: where they come from, how many events they have, and which answer is right."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

CONTROL = "hta/trace_diff/control/control.json.gz"
RANKS = "astra-sim/megatron-tp8"
# Duration and instant events; flows and metadata are not counted.
EVENT = re.compile(rb'"ph"\s*:\s*"[XiI]"')
CHUNK_BYTES = 16 << 20


@dataclass
class Plan:
    """A trace to make, and the memory that a tool may use for it."""

    name: str
    copies: int
    gzip: bool
    memory_limit_bytes: int | None = None
    # What Stepscope is given, as the limit that it keeps counts less than all of its memory.
    stepscope_limit: str | None = None


@dataclass
class Trace:
    """A trace that is ready, with what is known about it."""

    plan: Plan
    files: list[Path]
    size_bytes: int
    events: int
    kernels: int
    kernel_ns: int
    against: str

    def record(self) -> dict[str, object]:
        """Gives what the JSON has about it."""
        known = {key: getattr(self, key) for key in ("size_bytes", "events", "kernels", "kernel_ns", "against")}
        return {**asdict(self.plan), "files": len(self.files), **known}


def prepare(plan: Plan, corpus: Path, amplifier: Path, scratch: Path) -> Trace:
    """Makes a trace, and counts its events; this leaves it in the page cache."""
    if plan.copies:
        sources = [corpus / "traces" / CONTROL]
        files = [_amplify(plan, corpus, amplifier, scratch)]
    else:
        files = sources = sorted((corpus / "traces" / RANKS).glob("*.json.gz"))
    with ProcessPoolExecutor(1) as other_process:
        kernels = [other_process.submit(_kernels, source).result() for source in sources]
    checked = sum(_equals_oracle(corpus, source, known) for source, known in zip(sources, kernels))
    times = plan.copies or 1
    oracle = "oracle" if times == 1 else f"oracle × {times}"
    return Trace(
        plan=plan,
        files=files,
        size_bytes=sum(file.stat().st_size for file in files),
        events=sum(_count_events(file) for file in files),
        kernels=times * sum(count for count, _ in kernels),
        kernel_ns=times * sum(total for _, total in kernels),
        against=oracle if checked == len(sources) else f"JSON ({checked} of {len(sources)} ranks also: oracle)",
    )


def _amplify(plan: Plan, corpus: Path, amplifier: Path, scratch: Path) -> Path:
    options = ["--gzip", "6"] if plan.gzip else []
    command = [amplifier, "--corpus", corpus, "--scratch", scratch, "amplify", "control", str(plan.copies), *options]
    return Path(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


def _open(file: Path):
    return gzip.open(file) if file.suffix == ".gz" else file.open("rb")


def _count_events(file: Path) -> int:
    count, rest = 0, b""
    with _open(file) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            text = rest + chunk
            # An event ends with a brace, so none is cut here.
            end = text.rfind(b"}") + 1
            count += len(EVENT.findall(text, 0, end))
            rest = text[end:]
    return count


def _kernels(file: Path) -> tuple[int, int]:
    """The count of kernels and their time in nanoseconds."""
    with _open(file) as stream:
        events = json.load(stream, parse_float=str, parse_int=str)["traceEvents"]
    durations = [_nanoseconds(event["dur"]) for event in events if event.get("cat") == "kernel" and event["ph"] == "X"]
    return len(durations), sum(durations)


def _nanoseconds(microseconds: str) -> int:
    whole, _, part = microseconds.partition(".")
    return int(whole + part[:3].ljust(3, "0"))


def _equals_oracle(corpus: Path, source: Path, known: tuple[int, int]) -> bool:
    name = str(source.relative_to(corpus / "traces")).replace("/", "__")
    oracle = corpus / "oracles" / "values" / f"{name}.json"
    if not oracle.exists():
        return False
    kernels = json.loads(oracle.read_text())["kernels"]
    expected = (kernels["count"], kernels["total_ns"])
    if known != expected:
        raise SystemExit(f"error: found {known} kernels and ns, expected {expected} by the oracle: {name}")
    return True
