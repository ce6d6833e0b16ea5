"""Hands a table of about 1 GB to pyarrow and polars and looks whether its numbers were copied.

python bench/zero_copy.py [ROWS]: needs the wheel of Stepscope, pyarrow and polars. A copy would have other addresses,
and take as much memory again.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import polars
import pyarrow

import stepscope as ss

COLUMNS = 8


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def main(rows: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        events = [{"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5} for i in range(2000)]
        trace.write_text(json.dumps({"traceEvents": events}))
        run = ss.open(trace, cache=False, memory_limit=8 << 30)
        # Many rows out of few, all columns of 64 bits.
        columns = ", ".join(f"a.start_ns + b.span_id + {place} AS c{place}" for place in range(COLUMNS))
        table = run.sql(f"SELECT {columns} FROM spans a CROSS JOIN spans b CROSS JOIN (SELECT * FROM spans LIMIT 4) LIMIT {rows}")
        size = 8 * COLUMNS * len(table)
        before = resident_bytes()
        begun = time.perf_counter()
        arrow = pyarrow.table(table)
        again = pyarrow.table(table)
        frame = polars.DataFrame(table)
        seconds = time.perf_counter() - begun
        grown = resident_bytes() - before
        same = 0
        for name in arrow.column_names:
            chunks = zip(arrow.column(name).chunks, again.column(name).chunks, strict=True)
            same += all(one.buffers()[1].address == other.buffers()[1].address for one, other in chunks)
        # polars keeps the pieces as they came, so its first values lie where pyarrow's do.
        first = frame.get_column("c0").get_chunks()[0].to_arrow().buffers()[1].address
        is_same_in_polars = first == arrow.column("c0").chunk(0).buffers()[1].address
        print(f"{len(table):,} rows, {size / 1e9:.2f} GB: handed over three times in {1000 * seconds:.0f} ms")
        print(f"columns at the same address in pyarrow: {same} of {COLUMNS}; in polars: {'yes' if is_same_in_polars else 'no'}")
        print(f"memory grew by {grown / 1e6:.0f} MB")
        return 0 if same == COLUMNS and is_same_in_polars and grown < size / 10 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 16_000_000))
