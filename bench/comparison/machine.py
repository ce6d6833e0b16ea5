"""Describes the machine that a measurement ran on."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path


def describe() -> dict[str, object]:
    """Gives processor, cores, memory and system."""
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    release = re.search(r'PRETTY_NAME="?([^"\n]*)', Path("/etc/os-release").read_text())
    linux = ".".join(platform.release().split(".")[:2])
    return {
        "processor": processor.group(1) if processor else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": f"{release.group(1) if release else platform.system()}, Linux {linux}",
        "load_average_before": os.getloadavg()[0],
    }
