"""Writes a log folder as users have it: python log_folder.py FOLDER RUN…, with torch's own profiler and handler."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler


def train(folder: Path, width: int) -> None:
    """A few steps of a small model, recorded."""
    model = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=4),
        on_trace_ready=tensorboard_trace_handler(str(folder)),
        record_shapes=True,
        profile_memory=True,
    ) as recording:
        for _ in range(6):
            loss = torch.nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(10, (32,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recording.step()


if __name__ == "__main__":
    torch.set_num_threads(1)
    for place, run in enumerate(sys.argv[2:]):
        train(Path(sys.argv[1]) / run, 128 << place)
