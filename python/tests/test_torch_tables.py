"""`key_averages()`: the same rows, order and figures as torch's, under the names of old and new versions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.profiler  # noqa: E402
from torch_loops import conv_step  # noqa: E402

from stepscope.torch import ProfilerActivity, profile  # noqa: E402

OLD_NAMES = ("cuda_time", "cuda_time_total", "self_cuda_time_total", "cuda_memory_usage", "self_cuda_memory_usage")
CPU_NAMES = ("cpu_time_total", "self_cpu_time_total", "cpu_time", "count", "self_cpu_memory_usage", "flops")
SORT_NAMES = (*CPU_NAMES, *OLD_NAMES)


def cells(table: str) -> list[list[str]]:
    """The cells of a table's rows, without rules and spacing."""
    lines = [line for line in table.splitlines() if line.strip() and not line.startswith(("-", "="))]
    return [re.split(r"\s{2,}", line.strip()) for line in lines]


@pytest.fixture(scope="module")
def prof() -> Iterator[profile]:
    step = conv_step()
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True, with_flops=True
    ) as prof:
        step()
        step()
    yield prof


def torch_averages(prof: profile, **options: Any) -> Any:
    return torch.profiler.profile.key_averages(prof, **options)


@pytest.mark.parametrize("sort_by", [None, *SORT_NAMES, *(name.replace("cuda", "device") for name in OLD_NAMES)])
@pytest.mark.parametrize("options", [{}, {"group_by_input_shape": True}])
def test_table_is_that_of_torch(prof: profile, sort_by: str | None, options: dict[str, bool]) -> None:
    ours = cells(prof.key_averages(**options).table(sort_by=sort_by, row_limit=15))
    theirs = cells(torch_averages(prof, **options).table(sort_by=sort_by, row_limit=15))
    assert len(ours) > 10
    assert ours == theirs


def test_table_takes_the_arguments_of_torch(prof: profile) -> None:
    arguments = {
        "row_limit": 4,
        "max_src_column_width": 40,
        "max_name_column_width": 12,
        "max_shapes_column_width": 20,
        "header": "A HEADER",
        "top_level_events_only": True,
    }
    ours = prof.key_averages(True).table("cpu_time_total", **arguments)
    assert ours == torch_averages(prof, group_by_input_shape=True).table("cpu_time_total", **arguments)
    assert "A HEADER" in ours


def test_tables_are_in_descending_order(prof: profile) -> None:
    rows = cells(prof.key_averages().table(sort_by="count", row_limit=-1))[1:]
    counts = [int(row[-2] if "." in row[-1] or row[-1] == "--" else row[-1]) for row in rows if len(row) > 5]
    assert len(counts) > 20
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize(
    ("sort_by", "nearest"),
    [
        ("cuda_time_totl", "cuda_time_total"),
        ("cpu_total", "cpu_time_total"),
        ("self_cpu_mem_usage", "self_cpu_memory_usage"),
        ("calls", "count"),
        ("key", "count"),
    ],
)
def test_an_unknown_sort_name_is_answered_with_the_nearest(prof: profile, sort_by: str, nearest: str) -> None:
    with pytest.raises(ValueError, match=f"cannot sort by '{sort_by}'.*'{nearest}'"):
        prof.key_averages().table(sort_by=sort_by)


def test_rows_have_the_names_of_all_versions(prof: profile) -> None:
    rows = prof.key_averages()
    assert len(rows) == len(list(rows)) == len(torch_averages(prof))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row, torch_row in zip(rows, torch_averages(prof)):
            for name in ("key", "count", "cpu_time_total", "self_cpu_time_total", "cpu_time", "cpu_memory_usage",
                         "self_cpu_memory_usage", "flops", "input_shapes", "stack"):  # fmt: skip
                assert getattr(row, name) == getattr(torch_row, name)
            for name in OLD_NAMES:
                assert getattr(row, name) == getattr(row, name.replace("cuda", "device"))
        with pytest.raises(AttributeError, match="no 'cuda_tim'"):
            rows[0].cuda_tim  # noqa: B018


def test_old_names_give_the_figures_of_the_device(prof: profile) -> None:
    row = prof.key_averages()[0]
    row.device_time_total, row.self_device_time_total = 12.0, 8.0
    row.device_memory_usage, row.self_device_memory_usage, row.count = 64, 32, 4
    assert [getattr(row, name) for name in OLD_NAMES] == [3.0, 12.0, 8.0, 64, 32]


def test_grouping_by_stack_tells_call_sites_apart() -> None:
    def first(value: Any) -> Any:
        return value + 1

    def second(value: Any) -> Any:
        return value + 2

    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as prof:
        second(first(first(torch.zeros(2))))
    assert [row.count for row in prof.key_averages() if row.key == "aten::add"] == [3]
    grouped = [row for row in prof.key_averages(group_by_stack_n=1) if row.key == "aten::add"]
    found = {re.sub(r".*\): ", "", row.stack[0]): row.count for row in grouped}
    assert found == {"first": 2, "second": 1}
    assert "Source Location" in prof.key_averages(group_by_stack_n=1).table()
