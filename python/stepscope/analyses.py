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
        """The answer on one screen: steps, devices, operators, kernels, findings, health."""
        return self._analyze("summary", part)

    def diagnose(self, **part: Unpack[Part]) -> Report:
        """Findings: what is slow, why, and the code to change."""
        return self._analyze("diagnose", part)

    def ops(self, **part: Unpack[Part]) -> Report:
        """Operators: calls, time on the host and on devices, memory, FLOPs.

        Groups: `input_shape`, `stack`, `rank`, `window`, `step`.
        """
        return self._analyze("ops", part)

    def kernels(self, **part: Unpack[Part]) -> Report:
        """Kernels: how many, how long, how full they keep the device.

        Groups: `category`, `operator`, `properties`, `rank`, `window`, `step`, `device`, `stream`.
        """
        return self._analyze("kernels", part)

    def modules(self, **part: Unpack[Part]) -> Report:
        """Modules of the model: calls, time on the host and on devices, backward too.

        Groups: `class`, `rank`, `window`, `step`.
        """
        return self._analyze("modules", part)

    def transfers(self, **part: Unpack[Part]) -> Report:
        """Copies and fills: how much, how fast, how much of it kernels hide.

        Groups: `rank`, `window`, `step`, `device`, `stream`.
        """
        return self._analyze("transfers", part)

    def comms(self, **part: Unpack[Part]) -> Report:
        """Communication: collectives, bandwidth, and who makes the others wait.

        Groups: `process_group`.
        """
        return self._analyze("comms", part)

    def memory(self, **part: Unpack[Part]) -> Report:
        """Memory: peaks, what operators allocate, what is never freed.

        Groups: `rank`, `window`.
        """
        return self._analyze("memory", part)

    def steps(self, **part: Unpack[Part]) -> Report:
        """Steps: how long each takes, and what its time goes to.

        Groups: `rank`, `window`, `step`.
        """
        return self._analyze("steps", part)

    def launches(self, **part: Unpack[Part]) -> Report:
        """Launches: time in runtime calls, waits for the device, queues, idle streams.

        Groups: `rank`, `window`, `step`.
        """
        return self._analyze("launches", part)

    def regions(self, **part: Unpack[Part]) -> Report:
        """Regions marked with record_function: time on the host, work they launch.

        Groups: `rank`, `window`, `step`.
        """
        return self._analyze("regions", part)

    def functions(self, **part: Unpack[Part]) -> Report:
        """Functions of a Python profile: calls, own and cumulative time, callers.

        Groups: `caller`, `callee`, `rank`, `window`.
        """
        return self._analyze("functions", part)
