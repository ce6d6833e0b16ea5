"""One rank of a small job that communicates by gloo; the last rank sleeps in every step.

`python gloo_job.py RANK RANKS STORE FOLDER MODE SLEEP_S STEPS`. Prints how long the sleeps of a recorded step took.
"""

from __future__ import annotations

import sys
import time

import torch
import torch.distributed as dist

import stepscope as ss


def main() -> None:
    rank, ranks, store, folder, mode, sleep_s, steps = sys.argv[1:]
    is_last = int(rank) == int(ranks) - 1
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=int(rank), world_size=int(ranks))
    model: torch.nn.Module = torch.nn.Linear(16, 16)
    if mode == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(4, 16)
    slept: list[float] = []
    plan = ss.torch.schedule(wait=1, warmup=1, active=int(steps), repeat=1)
    handler = ss.torch.trace_handler(folder, worker_name=f"rank{rank}")
    with ss.torch.profile(schedule=plan, on_trace_ready=handler) as prof:
        for _ in range(2 + int(steps)):
            begun = time.perf_counter()
            if is_last:
                time.sleep(float(sleep_s))
            slept.append(time.perf_counter() - begun)
            optimizer.zero_grad()
            model(data).sum().backward()
            if mode == "plain":
                for parameter in model.parameters():
                    dist.all_reduce(parameter.grad)
            optimizer.step()
            prof.step()
    dist.destroy_process_group()
    print(sum(slept[2:]) / int(steps))


if __name__ == "__main__":
    main()
