"""Wrong values are errors in the words of Python: what was expected, what was found, and no option of a command."""

from __future__ import annotations

import gzip
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import stepscope as ss  # noqa: E402
from stepscope.run import _native_part  # noqa: E402
from stepscope.running.settings import Entry, settings_from  # noqa: E402
from stepscope.torch import profile  # noqa: E402

OPTION = re.compile(r"(?<![\w-])--?[a-z]")


@pytest.fixture(scope="module")
def run(torch_trace: Path) -> ss.Run:
    return ss.open(torch_trace)


def refused(call: Callable[[], Any]) -> Exception:
    with pytest.raises((TypeError, ValueError, ss.errors.StepscopeError)) as caught:
        call()
    assert not OPTION.search(str(caught.value)), caught.value
    return caught.value


@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (-1, ValueError), (1.5, ValueError), (True, TypeError)])
@pytest.mark.parametrize("name", ["max_bytes", "memory_limit"])
def test_what_is_not_a_size(name: str, value: Any, error: type[Exception], torch_trace: Path) -> None:
    calls = {
        "max_bytes": lambda: profile(max_bytes=value),
        "memory_limit": lambda: ss.open(torch_trace, memory_limit=value),
    }
    found = refused(calls[name])
    assert isinstance(found, error)
    assert str(found) == f"{name}: expected a number of bytes, or a size such as 512MiB or 2GB, found {value!r}"


@pytest.mark.parametrize("value", ["1GiB", "1 gib", "1024mi", 1 << 30, float(1 << 30)])
def test_sizes_as_people_write_them(value: Any, torch_trace: Path) -> None:
    assert profile(max_bytes=value)._budget.max_bytes == 1 << 30
    assert ss.open(torch_trace, memory_limit=value).name == "trace"


CASES = json.loads((Path(__file__).parents[2] / "crates" / "model" / "tests" / "arguments.json").read_text())


def check(case: dict[str, Any], name: str, call: Callable[[str], Any]) -> None:
    text = case["text"]
    if "error" in case:
        assert str(refused(lambda: call(text))) == f"{name}: {case['error']}, found {text!r}"
    else:
        found = call(text)
        assert (list(found) if isinstance(found, tuple) else found) == case["is"], text


def test_texts_mean_what_they_mean_everywhere(torch_trace: Path) -> None:
    for case in CASES["sizes"] + CASES["limits"]:
        check(case, "max_bytes", lambda text: profile(max_bytes=text)._budget.max_bytes)
        if "error" in case:
            check(case, "memory_limit", lambda text: ss.open(torch_trace, memory_limit=text))
    for case in CASES["ranks"]:
        check(case, "rank", lambda text: _native_part({"rank": text})["ranks"])
    for case in CASES["steps"]:
        check(case, "step", lambda text: _native_part({"step": text})["steps"])


@pytest.mark.parametrize("case", CASES["sizes"] + CASES["limits"], ids=lambda case: case["text"])
def test_sizes_of_the_config_too(case: dict[str, Any]) -> None:
    entry = Entry("max_bytes", case["text"], "c.yaml, line 2")
    if "error" in case:
        said = str(refused(lambda: settings_from([entry])))
        assert said.startswith(f"`max_bytes` in profiling: {case['error']}, found `{case['text']}`\n")
    else:
        assert settings_from([entry]).max_bytes == case["is"]


@pytest.mark.parametrize(("value", "error"), [("many", TypeError), (-1, ValueError), (2.5, ValueError), ([4], TypeError)])
def test_what_is_not_a_number_of_samples(value: Any, error: type[Exception]) -> None:
    for step in (profile().step, ss.step):
        found = refused(lambda: step(samples=value))
        assert isinstance(found, error)
        assert str(found) == f"samples: expected a whole number, 0 or more, found {value!r}"


def test_numbers_of_samples_of_other_libraries() -> None:
    numpy = pytest.importorskip("numpy")
    prof = profile()
    for samples in (4, 4.0, numpy.int64(4), torch.tensor(4), None):
        prof.step(samples=samples)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run, path: ss.open([]), "found no path, expected one or more"),
        (lambda run, path: ss.open(5), "paths: expected one or more paths, found 5"),
        (lambda run, path: ss.open(None), "paths: expected one or more paths, found None"),
        (lambda run, path: ss.open(b"trace"), "paths: expected a path, found b'trace'"),
        (lambda run, path: ss.open(path, store=5), "store: expected a path, found 5"),
        (lambda run, path: ss.open(path, threads=0), "threads: expected a whole number, 1 or more, found 0"),
        (lambda run, path: ss.open(path, threads="4"), "threads: expected a whole number, 1 or more, found '4'"),
        (lambda run, path: ss.open(path / "nothing"), "no such file or folder"),
        (lambda run, path: run.steps(step=-1), "step: expected a whole number, 0 or more, found -1"),
        (lambda run, path: run.steps(step=1.5), "step: expected a whole number, 0 or more, found 1.5"),
        (lambda run, path: run.steps(step=range(0)), "step: expected one step or a range, found range(0, 0)"),
        (lambda run, path: run.steps(step=(1,)), "step: expected one step or a range, found (1,)"),
        (lambda run, path: run.steps(rank=["0"]), "rank: expected a whole number, 0 or more, found '0'"),
        (lambda run, path: run.steps(step=(5, 2)), "step: expected the smaller number first, found '5-2'"),
        (lambda run, path: run.steps(rank=7), "rank"),
        (lambda run, path: run.steps(window=9), "window"),
        (lambda run, path: run.steps(samples_per_step="many"), "samples_per_step: expected a number greater than 0"),
        (lambda run, path: run.steps(samples_per_step=-3), "expected a number greater than 0, found -3"),
        (lambda run, path: run.ops(from_ns="a"), "from_ns: expected a whole number, 0 or more, found 'a'"),
        (lambda run, path: run.ops(group_by=5), "group_by: expected one or more strings, found 5"),
        (lambda run, path: run.ops(group_by="nothing"), "nothing"),
        (lambda run, path: run.summary(group_by="rank"), "rank"),
        (lambda run, path: run.ops().pick(["nothing"]), "nothing"),
        (lambda run, path: run.ops().pick(sort="nothing"), "nothing"),
        (lambda run, path: run.ops().pick(limit="3"), "limit: expected a whole number, 0 or more, found '3'"),
        (lambda run, path: run.health(rank=5), "rank 5"),
        (lambda run, path: run.metrics(rank="x"), "rank: expected a whole number, 0 or more, found 'x'"),
        (lambda run, path: run.timeline(step="x"), "step: expected a whole number, 0 or more, found 'x'"),
        (lambda run, path: run.sql("SELECT 1", limit="x"), "limit: expected a whole number, 0 or more, found 'x'"),
        (lambda run, path: run.sql("SELECT * FROM nothing"), "nothing"),
        (lambda run, path: profile(max_events="x"), "max_events: expected a whole number, 1 or more, found 'x'"),
        (lambda run, path: ss.configure(config=path / "nothing.yaml"), "cannot read the config"),
        (lambda run, path: ss.configure(max_bytes="lots"), "expected a size such as 512MiB or 2GB, found `lots`"),
        (lambda run, path: ss.configure(active=0), "a whole number, 1 or more, found `0`"),
    ],
)
def test_wrong_values(call: Callable[[ss.Run, Path], Any], message: str, run: ss.Run, torch_trace: Path) -> None:
    assert message in str(refused(lambda: call(run, torch_trace)))


def test_what_is_wrong_with_files_has_no_options_in_it(torch_trace: Path, tmp_path: Path) -> None:
    plain = gzip.decompress(torch_trace.read_bytes())
    (tmp_path / "cut.json").write_bytes(plain[: len(plain) // 2])
    (tmp_path / "text.json").write_text("no trace")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning) as caught:
        ss.open(tmp_path / "cut.json")
    assert not [warning for warning in caught if OPTION.search(str(warning.message))]
    refused(lambda: ss.open(tmp_path / "cut.json", strict=True))
    refused(lambda: ss.open(tmp_path / "text.json"))
    refused(lambda: ss.open(tmp_path / "empty"))
    refused(lambda: ss.open(torch_trace, store=tmp_path / "file" / "store"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused(lambda: ss.open(torch_trace, cache=False, memory_limit=1).sql("SELECT * FROM spans ORDER BY name"))


def test_columns_of_one_name(run: ss.Run) -> None:
    assert run.ops().pick("name,calls", limit=1).to_dict()["rows"][0].keys() == {"name", "calls"}
