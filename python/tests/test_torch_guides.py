"""The Python blocks of the founding guides run as they are, with `stepscope.torch` in place of `torch.profiler`.

`STEPSCOPE_CORPUS` names the folder that holds `seeds/`. What a block takes for granted (a model, a loader, …) is
provided here; what needs a GPU is asked of the CPU instead.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")

import torch.profiler  # noqa: E402
from torch import nn  # noqa: E402

import stepscope.torch  # noqa: E402

torch.set_num_threads(1)

CORPUS = os.environ.get("STEPSCOPE_CORPUS")

# Which guides are about torch.profiler, and how many of their blocks are run.
EXPECTED_BLOCKS = {"000": 14, "001": 11, "003": 5}

# Why a block is not run, by a word that only stands in such blocks.
LEFT_OUT = {
    "_record_memory_history": "the allocator's own history, which only CUDA has",
    "import tensorflow": "TensorFlow",
    "tf.": "TensorFlow",
    "import pstats": "cProfile",
}


class Block(NamedTuple):
    guide: str
    heading: str
    line: int
    code: str

    def __str__(self) -> str:
        return f"{self.guide}:{self.line} {self.heading}"


def blocks_of(guide: Path) -> Iterator[Block]:
    """All Python blocks of a guide, with the heading they stand under."""
    heading, code, first_line = "", None, 0
    for number, line in enumerate(guide.read_text(encoding="utf-8").splitlines(), start=1):
        if code is None and line.startswith("#"):
            heading = line.lstrip("# ")
        elif code is None and line.strip() == "```python":
            code, first_line = [], number
        elif code is not None and line.strip() == "```":
            yield Block(guide.name[:3], heading, first_line, "\n".join(code))
            code = None
        elif code is not None:
            code.append(line)


def is_run(block: Block) -> bool:
    if any(word in block.code for word in LEFT_OUT):
        return False
    # The first guide also speaks of things that need no profiler.
    return block.guide != "000" or "profiler." in block.code or "prof." in block.code


def all_blocks() -> list[Block]:
    if CORPUS is None:
        return []
    guides = [next((Path(CORPUS) / "seeds").glob(f"{number}_*.txt")) for number in EXPECTED_BLOCKS]
    return [block for guide in guides for block in blocks_of(guide) if is_run(block)]


def adapted(code: str) -> str:
    """The block for a machine without a GPU, with our module."""
    code = code.replace("torch.profiler", "stepscope.torch")
    code = code.replace("ProfilerActivity.CUDA", "ProfilerActivity.CPU")
    code = re.sub(r"\.cuda\([^()]*\)", "", code)
    return code.replace("profile(...)", "profile()")


class MyModel(nn.Module):
    """Takes images of any size, also in a batch with their labels."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48, 10))

    def forward(self, batch: Any) -> Any:
        return self.layers(batch[0] if isinstance(batch, (tuple, list)) else batch)


class Transforms:
    """Stands in for torchvision's."""

    Compose = staticmethod(list)
    ToTensor = staticmethod(lambda: None)
    Normalize = staticmethod(lambda mean, std: (mean, std))


def stand_ins() -> dict[str, Any]:
    """What the guides take for granted."""
    model, criterion = MyModel(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters())
    images, target = torch.randn(12, 3, 8, 8), torch.zeros(4, dtype=torch.long)
    dataset = torch.utils.data.TensorDataset(images, torch.zeros(12, dtype=torch.long))
    train_loader = torch.utils.data.DataLoader(dataset, batch_size=4)
    batch = (images[:4], target)

    def train_step(batch: Any) -> Any:
        optimizer.zero_grad()
        loss = criterion(model(batch), torch.zeros(len(batch[0]), dtype=torch.long))
        loss.backward()
        optimizer.step()
        return loss

    def train_epoch() -> None:
        for batch in train_loader:
            train_step(batch)

    with stepscope.torch.profile(with_stack=True, record_shapes=True, profile_memory=True) as prof:
        train_epoch()
    return {
        "torch": torch, "stepscope": stepscope, "math": math, "profiler": stepscope.torch, "F": nn.functional,
        "profile": stepscope.torch.profile, "record_function": stepscope.torch.record_function,
        "ProfilerActivity": stepscope.torch.ProfilerActivity, "prof": prof,
        "MyModel": MyModel, "model": model, "optimizer": optimizer, "criterion": criterion,
        "train_loader": train_loader, "dataloader": train_loader, "dataset": dataset,
        "DataLoader": torch.utils.data.DataLoader, "TensorDataset": torch.utils.data.TensorDataset,
        "input": images[:4], "inputs": images[:4], "batch": batch, "single_batch": batch, "target": target,
        "loss": criterion(model(images[:4]), target), "epoch": 10,
        "train_step": train_step, "train_epoch": train_epoch, "baseline_train": train_epoch,
        "optimized_train": train_epoch, "train_with_mixed_precision": train_epoch,
        "preprocess": lambda batch: batch[0], "get_production_request": lambda: images[:1],
        "transforms": Transforms, "mean": 0.5, "std": 0.5, "images": [[0.0]], "labels": [0],
    }  # fmt: skip


def table_rows(table: str) -> list[list[str]]:
    return [re.split(r"\s{2,}", line.strip()) for line in table.splitlines() if line.strip() and line[0] != "-"]


@pytest.mark.skipif(CORPUS is None, reason="STEPSCOPE_CORPUS names no folder with the guides")
def test_the_guides_hold_as_many_blocks_as_ever() -> None:
    found = [block.guide for block in all_blocks()]
    assert {guide: found.count(guide) for guide in EXPECTED_BLOCKS} == EXPECTED_BLOCKS


@pytest.mark.skipif(CORPUS is None, reason="STEPSCOPE_CORPUS names no folder with the guides")
@pytest.mark.filterwarnings("ignore::stepscope.torch.CaptureWarning")
@pytest.mark.parametrize("block", all_blocks(), ids=str)
def test_block_runs(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = stand_ins()
    exec(compile(adapted(block.code), str(block), "exec"), names)
    printed = capsys.readouterr().out
    if "profile_impl" in names:
        names["profile_impl"]("addition", torch.add, torch.ones(2), 1)
        assert capsys.readouterr().out == "addition: 0.00 ms\n"

    prof = names["prof"]
    for sort_by, row_limit in re.findall(r'table\(\s*sort_by="(\w+)",[^)\n]*\s*row_limit=(\d+)', block.code):
        ours = prof.key_averages().table(sort_by=sort_by, row_limit=int(row_limit))
        theirs = torch.profiler.profile.key_averages(prof).table(sort_by=sort_by, row_limit=int(row_limit))
        assert len(table_rows(ours)) > 5
        assert table_rows(ours) == table_rows(theirs)
        assert "print" not in block.code or ours in printed

    if "with profile" in block.code:
        for folder in re.findall(r"trace_handler\(f?['\"]([^'\"{]*)", block.code):
            traces = list(tmp_path.glob(f"{folder.removeprefix('./')}*/*.pt.trace.json"))
            assert traces
            assert all(json.loads(trace.read_text())["traceEvents"] for trace in traces)
    for written in re.findall(r'export_\w+\("([^"]+)"', block.code):
        assert (tmp_path / written).stat().st_size > 0
