"""Times how long Holistic Trace Analysis takes to load a folder with one trace per rank; prints one line of JSON."""

import json
import logging
import resource
import sys
import time

logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis  # noqa: E402

begin = time.perf_counter()
# By default it leaves the last step out.
analysis = TraceAnalysis(trace_dir=sys.argv[1], include_last_profiler_step=True)
load_s = time.perf_counter() - begin

frames = [analysis.t.get_trace(rank) for rank in analysis.t.get_ranks()]
kernel_category = analysis.t.symbol_table.get_sym_id_map().get("kernel", -1)
kernels = [frame.loc[frame["cat"] == kernel_category, "dur"] for frame in frames]
answer = {
    "events": sum(len(frame) for frame in frames),
    "kernels": sum(len(durations) for durations in kernels),
    "kernel_ns": round(1000 * sum(float(durations.sum()) for durations in kernels)),
}
peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps({"load_s": load_s, **answer, "peak_rss_bytes": peak * 1024}))
