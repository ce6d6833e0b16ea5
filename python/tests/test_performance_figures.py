"""Figures that were not measured, and figures made of readings, worked out by hand."""

from __future__ import annotations

import copy
import json
import math
import pickle

import pytest

from stepscope.performance.figure import Unmeasured, known, unmeasured
from stepscope.performance.growth import steady_growth
from stepscope.performance.readings import Readings, system_metrics
from stepscope.performance.system_report import system_report

SECOND = 1_000_000_000


def test_an_unmeasured_figure_formats_and_compares_as_nan() -> None:
    figure = unmeasured("no sensor")
    assert isinstance(figure, float) and math.isnan(figure)
    assert [f"{figure:.1f}", f"{figure:,}", f"{figure:,d}", f"{figure:>6.2f}", f"{figure}", str(figure)] == [
        "nan", "nan", "nan", "   nan", "nan", "nan",
    ]  # fmt: skip
    assert repr(figure) == "nan (no sensor)"
    assert not (figure > 0 or figure < 0 or figure == figure)
    assert not known(figure) and not known(None) and known(0) and known(0.0)


@pytest.mark.parametrize(
    "result",
    [
        lambda figure: figure + 1,
        lambda figure: 1 + figure,
        lambda figure: 1.5 - figure,
        lambda figure: figure / 1e6,
        lambda figure: 100 / figure,
        lambda figure: figure * figure,
        lambda figure: figure**2,
        lambda figure: -figure,
        lambda figure: abs(figure),
        lambda figure: round(figure, 2),
        lambda figure: sum([1, figure, 2.0]),
        lambda figure: pickle.loads(pickle.dumps(figure)),
        lambda figure: copy.deepcopy(figure),
    ],
)
def test_the_reason_survives(result: object) -> None:
    computed = result(unmeasured("no sensor"))  # type: ignore[operator]
    assert isinstance(computed, Unmeasured) and computed.reason == "no sensor"


def test_arithmetic_with_something_else_is_still_an_error() -> None:
    with pytest.raises(TypeError):
        unmeasured("no sensor") + "text"


def readings(
    series: dict[str, list[tuple[float, float]]], start_s: float, end_s: float, **now: float | str
) -> Readings:
    in_ns = {name: [(round(at * SECOND), value) for at, value in rows] for name, rows in series.items()}
    groups = frozenset({"memory", "cpu", "gpu", "energy"})
    return Readings(in_ns, round(start_s * SECOND), round(end_s * SECOND), groups, round(end_s * SECOND) + 1, now)


def test_the_neighboring_readings_count() -> None:
    ram = readings({"process_rss_bytes": [(0, 9e6), (1, 1e6), (3, 5e6), (5, 2e6), (6, 8e6)]}, 2, 4)
    assert (ram.first("process_rss_bytes"), ram.last("process_rss_bytes")) == (1e6, 2e6)
    assert (ram.peak("process_rss_bytes"), ram.least("process_rss_bytes")) == (5e6, 1e6)


def test_a_reading_of_much_later_says_nothing_of_a_while_whose_own_are_gone() -> None:
    later = readings({"process_rss_bytes": [(900, 9e6)], "cpu_percent": [(900, 50.0)]}, 2, 4)
    assert isinstance(later.peak("process_rss_bytes"), Unmeasured)
    assert isinstance(later.true_peak_ram_bytes(), Unmeasured)
    assert isinstance(system_report(later, SECOND).peak_cpu_percent, Unmeasured)
    assert readings({"process_rss_bytes": [(5, 9e6)]}, 2, 4).peak("process_rss_bytes") == 9e6


def test_a_peak_of_the_kernel_that_rose_is_exact() -> None:
    rows = {"process_rss_bytes": [(1, 1e6), (3, 1e6)], "process_peak_rss_bytes": [(1, 4e6), (3, 7e6)]}
    assert readings(rows, 1.5, 2.5).true_peak_ram_bytes() == 7e6
    # An older peak says nothing about this while.
    rows["process_peak_rss_bytes"] = [(1, 7e6), (3, 7e6)]
    assert readings(rows, 1.5, 2.5).true_peak_ram_bytes() == 1e6


def test_a_reading_now_stands_in_for_the_one_after() -> None:
    ram = readings({"process_rss_bytes": [(1, 1e6)]}, 2, 4, process_rss_bytes=3e6)
    assert ram.last("process_rss_bytes") == 3e6


def test_averages_leave_out_what_was_before() -> None:
    cpu = readings({"cpu_percent": [(1, 100.0), (3, 20.0), (5, 40.0), (7, 100.0)]}, 2, 4)
    assert cpu.average("cpu_percent") == 30
    assert readings({"cpu_percent": [(1, 100.0)]}, 2, 4).average("cpu_percent") == 100


def test_what_only_grows_is_taken_between_readings() -> None:
    rows = {"process_cpu_seconds": [(0, 10.0), (1, 11.0), (9, 15.0), (10, 17.0)]}
    # Half of the first second, four seconds in between, half of the last.
    assert readings(rows, 0.5, 9.5).growth("process_cpu_seconds") == pytest.approx(0.5 + 4 + 1)
    short = readings(rows, 0.4, 0.5).growth("process_cpu_seconds")
    assert isinstance(short, Unmeasured) and "too short" in short.reason


def test_what_is_missing_says_why() -> None:
    some = readings({}, 0, 1, gpu0_utilization_percent="no driver is loaded")
    machine = system_metrics(some, None)
    reasons = {name: getattr(getattr(machine, name), "reason", None) for name in vars(machine)}
    assert reasons["network_sent_mb_per_s"] == "track_network is off"
    assert reasons["cpu_temperature_celsius"] == "track_cpu_temp is off"
    assert reasons["gpu_power_watts"] == "no driver is loaded"
    assert reasons["cpu_percent"] == "no reading was taken in that time"


def test_energy_says_what_it_covers_and_carbon_needs_the_grid() -> None:
    rows = {"cpu_energy_joules": [(0, 0.0), (10, 3.6e6)], "gpu0_energy_joules": [(0, 1.0), (10, 3.6e6 + 1)]}
    both = system_metrics(readings(rows, 0, 10), 400)
    assert (both.energy_joules, both.energy_covers, both.carbon_g) == (7.2e6, "the CPU and 1 GPU", 800)
    del rows["cpu_energy_joules"]
    gpu = system_metrics(readings(rows, 0, 10), None)
    assert (gpu.energy_joules, gpu.energy_covers) == (3.6e6, "1 GPU")
    assert isinstance(gpu.carbon_g, Unmeasured) and "carbon_intensity_g_per_kwh" in gpu.carbon_g.reason


def test_the_report_has_averages_peaks_and_least_values() -> None:
    rows = {
        "memory_percent": [(0.5, 10.0), (1.5, 30.0), (2.5, 20.0)],
        "process_rss_bytes": [(0.5, 1e6), (1.5, 3e6), (2.5, 2e6)],
        # A burst of a tenth of a second is not the peak of a second.
        "cpu_percent": [(0.5, 0.0), (0.6, 100.0), (1.5, 60.0), (2.5, 20.0)],
    }
    report = system_report(readings(rows, 0, 3), SECOND)
    assert (report.avg_memory_percent, report.peak_memory_percent, report.min_memory_percent) == (20, 30, 10)
    assert report.peak_process_rss_mb == 3
    assert report.peak_cpu_percent == 60
    assert isinstance(report.avg_network_sent_mb_per_s, Unmeasured)
    document = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert document["avg_network_sent_mb_per_s"] is None
    assert document["nulls"]["avg_network_sent_mb_per_s"] == "track_network is off"
    assert "avg_cpu_percent" in dir(report) and "memory_percent" in repr(report)
    with pytest.raises(AttributeError, match="did you mean avg_cpu_percent"):
        report.avg_cpu_percnt


@pytest.mark.parametrize(
    ("values", "is_leak"),
    [
        ([0, 10, 20, 30, 40, 50, 60, 70, 80], True),
        # Uneven, but steady.
        ([0, 14, 20, 33, 40, 49, 62, 70, 80], True),
        # Fills up.
        ([0, 40, 60, 70, 75, 78, 79, 80, 80], False),
        ([0, 20, 40, 60, 80, 80, 80, 80, 80], False),
        # A step, and a step late.
        ([0, 80, 80, 80, 80, 80, 80, 80, 80], False),
        ([0, 0, 0, 0, 0, 0, 0, 0, 80], False),
        # Up and down.
        ([0, 60, 10, 70, 20, 80, 30, 90, 80], False),
        # Too little, and too few.
        ([0, 1, 2, 3, 4, 5, 6, 7, 8], False),
        ([0, 40, 80], False),
    ],
)
def test_steady_growth_is_told_from_other_growth(values: list[float], is_leak: bool) -> None:
    growth = steady_growth(range(len(values)), values, least=50)
    assert (growth is not None) == is_leak
    assert growth in (None, 10)
