"""The analyses of a run. Generated from the list of the core: run the tests with STEPSCOPE_UPDATE=1."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from stepscope.part import Part
    from stepscope.report import Report


class Analyses:
    """What a run can be asked for."""

    def _analyze(self, name: str, part: Part) -> Report:
        raise NotImplementedError

    def summary(self, **part: Unpack[Part]) -> Report:
        """Summarize on one screen: steps, devices, operators, kernels, findings, health."""
        return self._analyze("summary", part)

    def diagnose(self, **part: Unpack[Part]) -> Report:
        """List findings: what is slow, why, and the code to change."""
        return self._analyze("diagnose", part)

    def critical(self, **part: Unpack[Part]) -> Report:
        """Show the critical path: what bounds a step, and what would shorten it.

        Groups: `name`.
        """
        return self._analyze("critical", part)

    def ops(self, **part: Unpack[Part]) -> Report:
        """List operators: calls, time on the host and on devices, memory, FLOPs.

        Groups: `input_shape`, `stack`, `rank`, `window`, `step`.
        """
        return self._analyze("ops", part)

    def kernels(self, **part: Unpack[Part]) -> Report:
        """List kernels: counts, durations, and how well they fill the device.

        Groups: `category`, `operator`, `properties`, `rank`, `window`, `step`, `device`, `stream`.
        """
        return self._analyze("kernels", part)

    def hlo(self, **part: Unpack[Part]) -> Report:
        """List operations of XLA programs: time, FLOPs, bytes, share of the peak.

        Groups: `rank`, `window`, `step`, `device`, `program`, `category`.
        """
        return self._analyze("hlo", part)

    def modules(self, **part: Unpack[Part]) -> Report:
        """List modules of the model: calls, time on the host and on devices, with backward.

        Groups: `class`, `path`, `rank`, `window`, `step`.
        """
        return self._analyze("modules", part)

    def input(self, **part: Unpack[Part]) -> Report:
        """Show the input pipeline: how long steps wait, and which stages take the time.

        Groups: `rank`, `window`, `step`.
        """
        return self._analyze("input", part)

    def transfers(self, **part: Unpack[Part]) -> Report:
        """List copies and fills: bytes, bandwidth, and how much of it kernels hide.

        Groups: `rank`, `window`, `step`, `device`, `stream`.
        """
        return self._analyze("transfers", part)

    def comms(self, **part: Unpack[Part]) -> Report:
        """Show communication: collectives, bandwidth, and which rank delays the others.

        Groups: `process_group`.
        """
        return self._analyze("comms", part)

    def memory(self, **part: Unpack[Part]) -> Report:
        """Show memory: peaks, allocations per operator, blocks that are never freed.

        Groups: `rank`, `window`.
        """
        return self._analyze("memory", part)

    def steps(self, **part: Unpack[Part]) -> Report:
        """List steps: how long each takes, and where its time goes.

        Groups: `rank`, `window`, `step`.
        """
        return self._analyze("steps", part)

    def launches(self, **part: Unpack[Part]) -> Report:
        """Show launches: time in runtime calls, waits for the device, queues, idle streams.

        Groups: `rank`, `window`, `step`.
        """
        return self._analyze("launches", part)

    def regions(self, **part: Unpack[Part]) -> Report:
        """List regions marked with record_function: time on the host, and the work they launch.

        Groups: `rank`, `window`, `step`.
        """
        return self._analyze("regions", part)

    def functions(self, **part: Unpack[Part]) -> Report:
        """List functions of a cProfile profile: calls, own and cumulative time, callers.

        Groups: `caller`, `callee`, `rank`, `window`.
        """
        return self._analyze("functions", part)
