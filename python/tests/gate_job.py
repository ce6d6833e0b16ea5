"""A small training job on the CPU, which two settings make slower: for the gate.

usage: gate_job.py [--workers N] [--slow]
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS = 26
BATCH = 4


class Samples(Dataset[torch.Tensor]):
    """Each takes a while to load, without the processor."""

    def __len__(self) -> int:
        return STEPS * BATCH

    def __getitem__(self, place: int) -> torch.Tensor:
        time.sleep(0.007)
        return torch.full((512,), float(place % 7))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    unsorted = torch.randn(400_000)
    for batch in DataLoader(Samples(), batch_size=BATCH, num_workers=options.workers):
        for _ in range(4):
            model(batch).sum().backward()
        if options.slow:
            torch.sort(unsorted)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
