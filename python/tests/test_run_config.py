"""The `profiling:` section and the `--profiling.*` options: what is read from them, and what is said about mistakes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stepscope.errors import UsageError
from stepscope.running import configure, main
from stepscope.running.configuration import load, take_options
from stepscope.running.settings import Entry, Settings

SNAPSHOTS = Path(__file__).parent / "snapshots" / "run_config"
WRONG_CONFIGS = sorted(path.stem for path in SNAPSHOTS.glob("*.yaml"))


def settings_of(folder: Path, text: str, *options: str) -> Settings | None:
    path = folder / "c.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path, take_options(options)[0])[0]


def test_there_are_at_least_twelve_wrong_configs() -> None:
    assert len(WRONG_CONFIGS) >= 12


@pytest.mark.parametrize("name", WRONG_CONFIGS)
def test_a_wrong_config_is_refused_with_line_and_hint(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text("raise AssertionError('a script with a wrong config must not run')\n")
    monkeypatch.chdir(SNAPSHOTS)
    assert main(["--config", f"{name}.yaml", str(script)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    snapshot = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("STEPSCOPE_UPDATE") == "1":
        snapshot.write_text(output.err, encoding="utf-8")
    assert snapshot.exists(), f"{snapshot} is missing; STEPSCOPE_UPDATE=1 writes it"
    assert output.err == snapshot.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The section of the guide, with its comments.
        (
            "training:\n  epochs: 3\nprofiling:\n  wait: 2     # Skip.\n\n  # A comment.\n  active: 5\n"
            "  repeat: 0\n  record_shapes: False\n  with_stack: true\nlast: 1\n",
            Settings(wait=2, active=5, repeat=0, record_shapes=False, with_stack=True),
        ),
        ("profiling: {wait: 0, 'active': 3, unit: \"steps\",}  # Flow.\n", Settings(wait=0, unit="steps")),
        ("profiling: {}\n", Settings()),
        ("\ufeff'profiling' :\r\n    max_bytes: 20MB\r\n", Settings(max_bytes=20_000_000)),
        ("profiling:\n  max_bytes: '1 KiB'\n", Settings(max_bytes=1024)),
        ("profiling:\n  max_bytes: 1500\n---\nwait: 7\n", Settings(max_bytes=1500)),
        # Missing, commented out, left empty, of somebody else.
        ("training:\n  epochs: 3\n", None),
        ("# profiling:\n#   wait: 1\n", None),
        ("profiling:\n  # wait: 1\nlast: 1\n", None),
        ("profiling: null\n", None),
        ("training:\n  profiling:\n    wait: 1\n", None),
        ("profiling_notes: none\n", None),
    ],
)
def test_the_section_is_read(text: str, expected: Settings | None, tmp_path: Path) -> None:
    assert settings_of(tmp_path, text) == expected


def test_options_come_before_the_file(tmp_path: Path) -> None:
    text = "profiling:\n  wait: 4\n  active: 5\n"
    expected = Settings(wait=4, active=2, with_stack=True)
    assert settings_of(tmp_path, text, "--profiling.active", "2", "--profiling.with_stack=True") == expected


def test_an_option_switches_profiling_on_where_the_file_has_no_section(tmp_path: Path) -> None:
    assert settings_of(tmp_path, "training: 1\n", "--profiling.wait", "0") == Settings(wait=0)


def test_options_are_taken_out_and_the_rest_is_left_alone() -> None:
    entries, rest = take_options(["run", "--profiling.wait", "1", "--lr", "--", "--profiling.active", "1"])
    assert entries == [Entry("wait", "1", "option `--profiling.wait`")]
    assert rest == ["run", "--lr", "--", "--profiling.active", "1"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["--profiling.warm_up", "1", "script.py"],
            "error: unknown key `warm_up` in profiling\n  --> option `--profiling.warm_up`\n"
            "hint: did you mean `warmup`? known: wait, ",
        ),
        (["--profiling.active=0", "script.py"], "error: `active` in profiling: expected a whole number, 1 or more"),
        (
            ["script.py", "--profiling.active"],
            "error: found no value after --profiling.active, expected one\n  --> option",
        ),
        (
            ["--profiling.wait", "--profiling.active", "1", "script.py"],
            "error: found no value after --profiling.wait, expected one\n",
        ),
        (
            ["--confg", "c.yaml", "script.py"],
            "error: unknown option `--confg`\n  --> stepscope run\nhint: did you mean `--config`?",
        ),
        (
            ["--config", "nowhere.yaml", "script.py"],
            "error: cannot read the config: No such file or directory\n  --> nowhere.yaml\n",
        ),
        (["nowhere.py"], "error: no such script\n  --> nowhere.py"),
        ([], "error: found no script, expected one"),
    ],
)
def test_wrong_usage_says_what_and_where(
    arguments: list[str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text("raise AssertionError('must not run')\n")
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(expected)


def test_help_shows_keys_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["--help"])
    assert leaving.value.code == 0
    text = capsys.readouterr().out
    assert "max_bytes" in text and "stepscope run train.py --lr 0.1" in text


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ({"warm_up": 1}, "configure(warm_up=1)\nhint: did you mean `warmup`?"),
        ({"active": 1.5}, "a whole number, 1 or more, found `1.5`"),
        ({"wait": True}, "a whole number, 0 or more, found `True`"),
        ({"wait": "1"}, 'found the string "1"'),
        ({"with_stack": 1}, "expected true or false, found `1`"),
    ],
)
def test_configure_checks_its_keywords(keywords: dict[str, bool | int | str], expected: str) -> None:
    with pytest.raises(UsageError) as refused:
        configure(**keywords)  # type: ignore[arg-type]
    assert expected in str(refused.value)


def test_configure_stays_off_and_returns_arguments_without_options() -> None:
    assert configure(arguments=["--lr", "0.1"]) == ["--lr", "0.1"]


@pytest.mark.parametrize(
    ("settings", "recorded"),
    [
        (Settings(), [2, 3, 4]),
        (Settings(wait=0, warmup=1, active=1, repeat=2), [1, 3]),
        (Settings(wait=1, warmup=0, active=2, repeat=0), [1, 2, 4, 5, 7, 8]),
    ],
)
def test_the_schedule_records(settings: Settings, recorded: list[int]) -> None:
    assert [index for index in range(9) if settings.records(index)] == recorded
