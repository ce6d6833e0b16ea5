"""An open run: analyses, metrics, SQL and pictures of the timeline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from stepscope.analyses import Analyses
from stepscope.batches import Batches
from stepscope.errors import UsageError
from stepscope.picture import Picture
from stepscope.report import Report
from stepscope.table import Table
from stepscope.values import from_text, number, optional, ranks, strings, whole_number

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from stepscope._native import NativeRun
    from stepscope.part import Part, Steps


__all__ = ["Run"]


class Run(Analyses):
    """Answers queries about a run: all traces of one job, of one or many ranks. `stepscope.open` returns it.

    Every analysis takes the same keywords:

    - `group_by`: How to group the rows, such as `"input_shape"`; each analysis lists its groups.
    - `rank`: Ranks to include: `0`, `[0, 3]` or `"0,2-4"`.
    - `window`: Window to include: one capture cycle of a rank.
    - `step`: Steps to include: `3`, `"2-5"` or `(2, 5)`. 16 is `ProfilerStep#16`.
    - `from_ns` and `to_ns`: Time range to include, in nanoseconds from the first event.
    - `samples_per_step`: Samples that a step works on, for the throughput.
    """

    def __init__(self, native: NativeRun) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Name of the run."""
        return self._native.name

    @property
    def sources(self) -> list[dict[str, Any]]:
        """Traces of the run, one per rank and window: events, times, health, devices."""
        sources: list[dict[str, Any]] = json.loads(self._native.sources())
        return sources

    def findings(self, **part: Unpack[Part]) -> Report:
        """Finds what is slow, why, and the code to change; the same as `diagnose`."""
        return self.diagnose(**part)

    def whatif(
        self,
        *,
        scale: Mapping[str, str | float] | None = None,
        remove: str | Iterable[str] | None = None,
        fuse: str | Iterable[str] | None = None,
        no_communication: bool = False,
        communication_overlapped: bool = False,
        no_copies: bool = False,
        async_copies_to_device: bool = False,
        no_sync: bool = False,
        input_ready: bool = False,
        host_half: bool = False,
        cuda_graph: bool = False,
        rank: int | None = None,
        window: int | None = None,
        step: Steps | None = None,
    ) -> Report:
        """Predicts what changes would save: replays the steps with each change alone, and with all together.

        Work is named as `KIND:PATTERN`, such as `"kernel:*gemm*"` or `"op:aten::copy_"`. `KIND` is `kernel`,
        `communication`, `memcpy`, `memset`, `op`, `annotation` or `runtime`; `*` matches any text. An `op` includes
        the kernels that it launches.

        Args:
            scale: Work, and the part of its time that it would take, such as `"1/2"`.
            remove: Work to leave out.
            fuse: Kernels that would become one where they follow each other on a stream.
            no_communication: Communication takes no time.
            communication_overlapped: No other stream waits for communication.
            no_copies: Copies take no time.
            async_copies_to_device: No call waits for a copy to the device.
            no_sync: No call waits for the device.
            input_ready: No step waits for the data loader.
            host_half: The host takes half of its time.
            cuda_graph: One launch replaces all: the host costs nothing.
            rank: Rank to replay; the first by default.
            window: Window to replay; the first by default.
            step: Steps to report; all steps of the replay by default.

        Raises:
            UsageError: No change is given, or one cannot be read.

        >>> run.whatif(no_sync=True, scale={"kernel:*gemm*": "1/2"})   # doctest: +SKIP
        """
        switches = {
            "no_communication": no_communication,
            "communication_overlapped": communication_overlapped,
            "no_copies": no_copies,
            "async_copies_to_device": async_copies_to_device,
            "no_sync": no_sync,
            "input_ready": input_ready,
            "host_half": host_half,
            "cuda_graph": cuda_graph,
        }
        changes: list[tuple[str, str | None]] = [("scale", f"{work}={part}") for work, part in (scale or {}).items()]
        changes += [("remove", work) for work in _works(remove)]
        changes += [(name, None) for name, is_on in switches.items() if is_on]
        changes += [("fuse", work) for work in _works(fuse)]
        return Report(self._native.whatif(changes, _native_part(_given(rank, window, step))))

    def diff(
        self, later: Run, *, rank: int | None = None, window: int | None = None, step: Steps | None = None
    ) -> Report:
        """Compares this run with a later one: what got faster or slower per step, and whether noise explains it.

        Args:
            later: The run to compare with this one; `stepscope.diff` also takes paths.
            rank: Rank to compare; the first by default.
            window: Window to compare; the first by default.
            step: Steps to compare; the last 32 complete steps by default.

        Raises:
            UsageError: A run does not have the rank, window or step.

        >>> run.diff(stepscope.open("after.json.gz"))   # doctest: +SKIP
        """
        if not isinstance(later, Run):
            raise TypeError(f"later: expected a Run, as stepscope.open returns it, found {later!r}")
        return Report(self._native.diff(later._native, _native_part(_given(rank, window, step))))

    def tracks(self) -> Report:
        """Lists the threads, streams and lanes of the run."""
        return Report(self._native.tracks())

    def health(self, *, rank: int | None = None, window: int | None = None) -> Report:
        """Reports what could be read, what could not, and what was linked.

        Args:
            rank: Rank to report; all ranks by default.
            window: Window to report; all windows by default.
        """
        return Report(self._native.health(*_source(rank, window)))

    def metrics(self, *, rank: int | None = None, window: int | None = None) -> dict[str, Any]:
        """Returns every metric of one trace, as `stepscope metrics -f json` prints it.

        Args:
            rank: Rank of the trace; required if the run has several ranks.
            window: Window of the trace; required if the rank has several windows.
        """
        metrics: dict[str, Any] = json.loads(self._native.metrics(*_source(rank, window)))
        return metrics

    def sql(self, statement: str, *, limit: int | None = None) -> Table:
        """Runs a SQL query over the tables of the run; `stepscope.tables()` lists them.

        Args:
            statement: One SQL statement; it can only read.
            limit: Rows to return at most; all rows by default.

        Raises:
            QueryError: The statement cannot be run.
            MemoryLimitError: The query needs more memory than the limit allows.

        >>> run.sql("SELECT name, sum(dur_ns) AS total_ns FROM spans GROUP BY name")   # doctest: +SKIP
        """
        return Table(self._native.sql(statement, optional(whole_number, "limit", limit)))

    def sql_batches(self, statement: str, *, limit: int | None = None) -> Batches:
        """Runs a SQL query batch by batch, for results larger than memory.

        Args:
            statement: The query, as for `sql`.
            limit: Rows to return at most; all rows by default.

        Returns:
            An iterator of `Table`, also an Arrow stream for pyarrow, polars and DuckDB.

        Raises:
            QueryError: The statement cannot be run.
            MemoryLimitError: The query needs more memory than the limit allows, for example to sort.

        >>> sum(len(batch) for batch in run.sql_batches("SELECT * FROM spans"))   # doctest: +SKIP
        """
        return Batches(self._native.sql_batches(statement, optional(whole_number, "limit", limit)))

    def timeline(
        self,
        *,
        step: int | None = None,
        rank: int | None = None,
        window: int | None = None,
        from_ns: int | None = None,
        to_ns: int | None = None,
    ) -> Picture:
        """Draws a still picture of the timeline for a notebook: one step, a time range, or the whole trace.

        Args:
            step: Number of the step to draw; 16 is `ProfilerStep#16`.
            rank: Rank to draw; the first by default.
            window: Window to draw; the first by default.
            from_ns: Start of the time range, in nanoseconds from the first event.
            to_ns: End of the time range, in nanoseconds from the first event.
        """
        source = self._one_source(*_source(rank, window))
        from_ns, to_ns = optional(whole_number, "from_ns", from_ns), optional(whole_number, "to_ns", to_ns)
        if step is not None:
            step = whole_number("step", step)
            found = self.steps(rank=source["rank"], window=source["window"], step=step).to_dict()["rows"][0]
            from_ns = found["start_ns"] - source["first_ns"]
            to_ns = from_ns + found["dur_ns"]
        markup = self._native.picture((source["rank"], source["window"]), from_ns, to_ns)
        return Picture(markup, self._native.inputs)

    def __repr__(self) -> str:
        sources = self.sources
        ranks = len({source["rank"] for source in sources})
        functions = sum(source["rows"]["functions"] for source in sources)
        events = sum(source["events"] for source in sources) - functions
        counts = [f"{events:,} events"] * (events > 0 or not functions) + [f"{functions:,} functions"] * (functions > 0)
        return f"<Run {self.name!r}: {ranks} rank{'' if ranks == 1 else 's'}, {', '.join(counts)}>"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def _analyze(self, name: str, part: Part) -> Report:
        return Report(self._native.analyze(name, _native_part(part)))

    def _one_source(self, rank: int | None, window: int | None) -> dict[str, Any]:
        """Returns the first trace of the rank and window."""
        fitting = [
            source
            for source in self.sources
            if rank in (None, source["rank"]) and window in (None, source["window"])
        ]
        if not fitting:
            raise UsageError(f"no trace found of rank {rank}, window {window}", None, "run.sources lists the traces")
        return fitting[0]


_KEYWORDS = ("group_by", "rank", "window", "step", "from_ns", "to_ns", "samples_per_step")


def _native_part(part: Part) -> dict[str, Any]:
    unknown = [name for name in part if name not in _KEYWORDS]
    if unknown:
        raise TypeError(f"unknown keyword {unknown[0]!r}, expected one of: {', '.join(_KEYWORDS)}")
    return {
        "ranks": optional(ranks, "rank", part.get("rank")) or [],
        "window": optional(whole_number, "window", part.get("window")),
        "steps": _steps(part.get("step")),
        "from_ns": optional(whole_number, "from_ns", part.get("from_ns")),
        "to_ns": optional(whole_number, "to_ns", part.get("to_ns")),
        "group_by": optional(strings, "group_by", part.get("group_by")) or [],
        "samples_per_step": optional(number, "samples_per_step", part.get("samples_per_step")),
    }


def _given(rank: int | None, window: int | None, step: Steps | None) -> Part:
    given: dict[str, Any] = {"rank": rank, "window": window, "step": step}
    part: Any = {name: value for name, value in given.items() if value is not None}
    return part  # type: ignore[no-any-return]


def _works(work: str | Iterable[str] | None) -> list[str]:
    return [work] if isinstance(work, str) else list(work or [])


def _source(rank: int | None, window: int | None) -> tuple[int | None, int | None]:
    return optional(whole_number, "rank", rank), optional(whole_number, "window", window)


def _steps(step: Steps | None) -> tuple[int, int] | None:
    """Reads the first and the last step."""
    if step is None:
        return None
    from stepscope._native import steps as read

    if isinstance(step, str):
        return from_text(read, "step", step)
    pair: Any = step
    if isinstance(step, range):
        pair = (step[0], step[-1]) if step else ()
    elif not isinstance(step, (tuple, list)):
        pair = (step, step)
    if len(pair) != 2:
        raise UsageError(f"step: expected one step or a range, found {step!r}", None, 'write 3, "2-5" or (2, 5)')
    return from_text(read, "step", "-".join(str(whole_number("step", one)) for one in pair))
