"""Small training loops that the tests of `stepscope.torch` record."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

torch.set_num_threads(1)


def training_step(model: nn.Module, *input_shape: int) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        model(torch.randn(*input_shape)).sum().backward()
        optimizer.step()

    return step


def mlp_step() -> Callable[[], None]:
    return training_step(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4)), 8, 32)


def conv_step() -> Callable[[], None]:
    layers = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.Flatten(), nn.Linear(576, 10)
    return training_step(nn.Sequential(*layers), 4, 3, 16, 16)


def transformer_step() -> Callable[[], None]:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return training_step(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), 2, 10, 32)


def tiny_ops_step(ops: int = 1000) -> Callable[[], None]:
    def step() -> None:
        total = torch.zeros(4)
        for _ in range(ops):
            total = total + 1

    return step
