"""Times how long Holistic Trace Analysis takes to load a folder with one trace per rank; prints one line of JSON."""

import json
import logging
import resource
import sys
import time

logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis  # noqa: E402

begin = time.perf_counter()
analysis = TraceAnalysis(trace_dir=sys.argv[1])
load_s = time.perf_counter() - begin

rows = sum(len(analysis.t.get_trace(rank)) for rank in analysis.t.get_ranks())
peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps({"load_s": load_s, "events": rows, "peak_rss_bytes": peak * 1024}))
