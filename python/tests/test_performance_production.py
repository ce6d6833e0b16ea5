"""Requests of a service: counts, percentiles, merged reports, the log, Prometheus."""

from __future__ import annotations

import json
import math
import multiprocessing
import random
import re
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import stepscope as ss
from stepscope.errors import UsageError
from stepscope.performance import HourlyReport

pytestmark = pytest.mark.measures_time

NOON_S = 1_700_000_000.0


class Service(ss.ProductionProfiler):
    """With a clock of its own, and alerts in a list."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.time_s = NOON_S
        self.alerts: list[dict[str, Any]] = []

    def _now_s(self) -> float:  # type: ignore[override]
        return self.time_s

    def alert_sla_violation(self, entry: dict[str, Any]) -> None:
        self.alerts.append(entry)


def exact_percentile(latencies: list[float], percent: float) -> float:
    return sorted(latencies)[math.ceil(percent / 100 * len(latencies)) - 1]


def latencies_of(seed: int, count: int) -> list[float]:
    generator = random.Random(seed)
    return [generator.lognormvariate(-2, 1) for _ in range(count)]


def test_a_million_requests_of_eight_threads() -> None:
    service = Service(sla_seconds=1.0)
    of_threads = [latencies_of(seed, 125_000) for seed in range(8)]

    def serve(latencies: list[float]) -> None:
        for latency in latencies:
            service.log_metrics("id", latency)

    threads = [threading.Thread(target=serve, args=(latencies,)) for latencies in of_threads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [latency for latencies in of_threads for latency in latencies]
    report = service.generate_hourly_report()
    violations = sum(latency > 1.0 for latency in everything)
    assert report["requests_processed"] == 1_000_000
    assert report["sla_violations"] == violations == len(service.alerts)
    assert report["average_latency"] == pytest.approx(sum(everything) / 1e6, rel=1e-6)
    assert report["max_latency"] == pytest.approx(max(everything), rel=1e-6)
    for percent in (50, 95, 99):
        assert report[f"p{percent}_latency"] == pytest.approx(exact_percentile(everything, percent), rel=0.01)
    service.close()


def serve_alone(number: int, path: Path) -> None:
    service = Service()
    for latency in latencies_of(number, 200 * number):
        service.log_metrics(number, latency)
    path.write_text(service.generate_hourly_report().to_text())


def test_the_merged_reports_of_24_processes_are_the_report_of_all(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    files = [tmp_path / f"{number}.json" for number in range(24)]
    processes = [context.Process(target=serve_alone, args=(number, path)) for number, path in enumerate(files)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    texts = [path.read_text() for path in files]
    together = Service()
    for number in range(24):
        for latency in latencies_of(number, 200 * number):
            together.log_metrics(number, latency)
    merged = ss.ProductionProfiler.merge_reports(texts)
    assert merged == together.generate_hourly_report()
    assert merged["requests_processed"] == 200 * sum(range(24))
    assert HourlyReport.from_text(merged.to_text()) == merged
    together.close()
    with pytest.raises(UsageError, match="no report to merge"):
        ss.ProductionProfiler.merge_reports([])
    with pytest.raises(UsageError, match="expected an hourly report"):
        ss.ProductionProfiler.merge_reports(["{}"])


def test_only_the_last_hour_counts_and_is_kept() -> None:
    service = Service()
    for minute in range(200):
        service.time_s = NOON_S + 60 * minute
        service.log_metrics(minute, 0.1)
    assert service.generate_hourly_report()["requests_processed"] == 60
    assert len(service._minutes) <= 61
    service.time_s += 30 * 60
    assert service.generate_hourly_report()["requests_processed"] == 30
    service.time_s += 3600
    empty = service.generate_hourly_report()
    assert empty["requests_processed"] == 0 and math.isnan(empty["p95_latency"])
    assert "–" in str(empty)
    service.close()


def test_an_hour_of_requests_with_alerts_and_a_log(tmp_path: Path) -> None:
    service = Service(sla_seconds=2.0, log_path=tmp_path / "logs" / "requests.jsonl")
    for number, latency in enumerate([0.5, 2.0, 2.5]):
        with service.profile_request(f"r{number}"):
            time.sleep(0.01)
        service.log_metrics(f"r{number}", latency)
    service.close()
    service.close()
    # Exactly what was agreed is no violation.
    assert [alert["request_id"] for alert in service.alerts] == ["r2"]
    entries = [json.loads(line) for line in (tmp_path / "logs" / "requests.jsonl").read_text().splitlines()]
    assert [entry["request_id"] for entry in entries] == ["r0", "r1", "r2"]
    assert [entry["user_facing_latency"] for entry in entries] == [0.5, 2.0, 2.5]
    assert all(0.01 <= entry["internal_latency"] < 1 for entry in entries)
    assert all(entry["memory_mb"] > 1 for entry in entries)
    assert set(entries[0]) == {
        "timestamp", "request_id", "internal_latency", "user_facing_latency", "memory_mb", "cpu_percent",
    }  # fmt: skip
    # All requests are one region, however many ids there are.
    assert service.profiler.get_metrics().name == "request"
    assert service.profiler.get_metrics().timing.calls == 3
    assert list(service.profiler.get_timing_breakdown()) == ["request"]


def test_the_log_has_the_use_of_the_cpu_soon_after_the_start(tmp_path: Path) -> None:
    service = Service(log_path=tmp_path / "requests.jsonl")
    # The first reading may come too early to have one.
    for number in range(5):
        service.log_metrics(number, 0.1)
        time.sleep(0.15)
    service.close()
    entries = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    assert 0 <= entries[-1]["cpu_percent"] <= 100


def test_a_service_is_refused_what_it_cannot_work_with(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="sla_seconds: expected more than 0 seconds"):
        ss.ProductionProfiler(sla_seconds=-1)
    with pytest.raises(UsageError, match="the log cannot be written"):
        ss.ProductionProfiler(log_path=tmp_path)
    with pytest.raises(UsageError, match="it has no 'histogram'"):
        ss.ProductionProfiler.merge_reports(["{}"])


def test_no_percentile_is_above_the_longest_request() -> None:
    service = Service()
    service.log_metrics("one", 12.0)
    report = service.generate_hourly_report()
    assert report["p50_latency"] == report["p99_latency"] == report["max_latency"] == 12.0
    service.close()


def test_requests_at_the_same_time_keep_their_own_latency(tmp_path: Path) -> None:
    service = Service(log_path=tmp_path / "requests.jsonl")
    barrier = threading.Barrier(4)

    def serve(number: int) -> None:
        with service.profile_request(number):
            barrier.wait()
            time.sleep(0.1 * number)
        service.log_metrics(number, 0.1)

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    service.close()
    entries = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    internal = {entry["request_id"]: entry["internal_latency"] for entry in entries}
    assert sorted(internal, key=internal.__getitem__) == [0, 1, 2, 3]
    assert all(internal[number] >= 0.1 * number for number in range(4))


def test_a_request_that_is_never_logged_is_forgotten() -> None:
    service = Service()
    for number in range(10_050):
        with service.profile_request(number):
            pass
    assert len(service._unlogged) == 10_000
    service.close()


def test_the_log_stays_below_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    service = Service(log_path=path, log_limit_mb=0.02)
    for number in range(500):
        service.log_metrics(number, 0.1)
    service.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["requests.jsonl", "requests.jsonl.1"]
    assert sum(file.stat().st_size for file in files) <= 20_000
    ids = [json.loads(line)["request_id"] for file in reversed(files) for line in file.read_text().splitlines()]
    assert ids == list(range(500 - len(ids), 500)) and len(ids) > 50


def test_a_log_that_cannot_be_written_fails_no_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(log_path=tmp_path / "requests.jsonl")
    assert service._log is not None

    class FullDisk:
        def write(self, line: bytes) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(service._log, "_file", FullDisk())
    service.log_metrics(1, 0.1)
    service.log_metrics(2, 0.1)
    assert capsys.readouterr().err.count("No space left on device") == 1
    assert service.generate_hourly_report()["requests_processed"] == 2
    service.close()


@pytest.mark.parametrize("latency", [-1.0, math.nan, math.inf])
def test_a_latency_that_cannot_be_is_counted_apart(latency: float) -> None:
    service = Service()
    service.log_metrics("ok", 0.1)
    service.log_metrics("odd", latency)
    report = service.generate_hourly_report()
    assert (report["requests_processed"], report["invalid_latencies"], report["sla_violations"]) == (1, 1, 0)
    assert service.alerts == []
    service.close()


def test_alerts_are_one_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    service = ss.ProductionProfiler(sla_seconds=0.5)
    for number in range(100):
        service.log_metrics(number, 0.75)
    assert capsys.readouterr().err == "stepscope: request 0 took 0.750 s, longer than the SLA of 0.5 s\n"
    service.close()


SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{le="([^"]+)"\})? (\S+)')


def test_prometheus_reads_the_text() -> None:
    service = Service(sla_seconds=2.0)
    latencies = [0.0005, 0.01, 0.3, 2.0, 2.2, 400.0]
    for latency in latencies:
        service.log_metrics("id", latency)
    lines = service.prometheus_text().splitlines()
    types = dict(line.split()[2:4] for line in lines if line.startswith("# TYPE"))
    helped = {line.split()[2] for line in lines if line.startswith("# HELP")}
    samples = [SAMPLE.fullmatch(line) for line in lines if not line.startswith("#")]
    assert all(samples)
    values = {(match[1], match[2]): float(match[3]) for match in samples if match}
    assert types["stepscope_request_latency_seconds"] == "histogram" and helped == set(types)
    buckets = {le: value for (name, le), value in values.items() if le}
    for le, value in buckets.items():
        assert value == sum(latency <= float(le) for latency in latencies), le
    assert list(map(float, buckets)) == sorted(map(float, buckets)) and "2.0" in buckets and "+Inf" in buckets
    assert values["stepscope_request_latency_seconds_count", None] == 6
    assert values["stepscope_request_latency_seconds_sum", None] == pytest.approx(sum(latencies))
    assert values["stepscope_requests_total", None] == 6
    assert values["stepscope_sla_violations_total", None] == 2
    assert values["stepscope_memory_bytes", None] > 1e6 and types["stepscope_memory_bytes"] == "gauge"
    service.close()


def test_the_last_requests_are_in_the_metrics_log() -> None:
    service = Service(sla_seconds=1.0)
    for number in range(3):
        with service.profile_request(number):
            pass
        service.log_metrics(number, 0.5 * number)
        service.time_s += 1800
    last = service.metrics_log[-1]
    assert set(last) == {
        "timestamp",
        "request_id",
        "internal_latency",
        "user_facing_latency",
        "memory_mb",
        "cpu_percent",
    }
    assert (last["request_id"], last["user_facing_latency"]) == (2, 1.0)
    assert last["internal_latency"] < 1 and last["memory_mb"] > 1
    # The code of the guide: local time without a zone.
    cutoff = datetime.fromtimestamp(NOON_S + 3600) - timedelta(hours=1)
    recent = [entry for entry in service.metrics_log if datetime.fromisoformat(entry["timestamp"]) > cutoff]
    assert [entry["request_id"] for entry in recent] == [1, 2]
    assert len(service.metrics_log) == 3 and service.metrics_log[:1][0]["request_id"] == 0
    for number in range(20_000):
        service.log_metrics(number, 0.1)
    assert len(service.metrics_log) == 10_000
    assert service.metrics_log[0]["request_id"] == 10_000
    service.close()
