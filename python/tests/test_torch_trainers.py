"""The callbacks for trainers, run by stand-ins that call the hooks as the libraries document it."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch_loops import mlp_step  # noqa: E402

from stepscope.torch import ProfilerActivity, schedule, trace_handler  # noqa: E402


class Callback:
    """Stands in for the base class of either library."""


def callback_class(library: str, packages: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
    for package, class_name in packages.items():
        module = ModuleType(package)
        setattr(module, class_name, Callback)
        monkeypatch.setitem(sys.modules, package, module)
    module = importlib.import_module(f"stepscope.torch.{library}")
    module._callback_class.cache_clear()
    return module.StepscopeCallback


def arguments(folder: Path) -> dict[str, Any]:
    plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    return {"activities": [ProfilerActivity.CPU], "schedule": plan, "on_trace_ready": trace_handler(str(folder))}


def samples_in_trace(folder: Path) -> Any:
    (path,) = folder.iterdir()
    return json.loads(path.read_text())["stepscope_samples_per_step"]


def test_hugging_face_steps_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    callback = callback_class("huggingface", {"transformers": "TrainerCallback"}, monkeypatch)(**arguments(tmp_path))
    assert isinstance(callback, Callback)
    args = SimpleNamespace(train_batch_size=4, gradient_accumulation_steps=2)
    hook_arguments = {"args": args, "state": None, "control": None, "model": None}
    step = mlp_step()
    callback.on_train_begin(**hook_arguments)
    for _ in range(5):
        step()
        callback.on_step_end(**hook_arguments)
    callback.on_train_end(**hook_arguments)
    assert samples_in_trace(tmp_path) == {"2": 8, "3": 8}


@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
@pytest.mark.parametrize("fails", [False, True])
def test_lightning_batches_are_recorded(
    package: str, fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in ("lightning", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, other, None)
    packages = {package.partition(".")[0]: "Trainer", package: "Trainer", f"{package}.callbacks": "Callback"}
    callback = callback_class("lightning", packages, monkeypatch)(**arguments(tmp_path))
    step = mlp_step()
    callback.on_train_start(None, None)
    for number in range(3 if fails else 5):
        step()
        batch = [{"x": torch.zeros(6, 2)}, torch.zeros(6)]
        callback.on_train_batch_end(None, None, None, batch, number)
    if fails:
        callback.on_exception(None, None, RuntimeError())
    callback.on_train_end(None, None)
    assert samples_in_trace(tmp_path) == ({"2": 6} if fails else {"2": 6, "3": 6})


@pytest.mark.parametrize(
    ("library", "packages", "advice"),
    [
        ("huggingface", ["transformers"], "pip install transformers"),
        ("lightning", ["lightning", "lightning.pytorch", "pytorch_lightning"], "pip install lightning"),
    ],
)
def test_a_missing_library_is_named(
    library: str, packages: list[str], advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)
    module = importlib.import_module(f"stepscope.torch.{library}")
    module._callback_class.cache_clear()
    with pytest.raises(ImportError, match=advice):
        module.StepscopeCallback
    with pytest.raises(AttributeError):
        module.NoSuchCallback
