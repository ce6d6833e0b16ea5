"""Times how long the TensorBoard plugin takes to load a folder of traces and make its views; prints one line of JSON."""

import json
import sys
import tempfile
import time

from torch_tb_profiler.io import Cache
from torch_tb_profiler.profiler import loader
from torch_tb_profiler.profiler.trace import EventTypes


class CountingGenerator(loader.RunGenerator):
    """Makes the views, and adds what was read: the plugin does it in one process per trace, and keeps no events."""

    def generate_run_profile(self):
        profile = super().generate_run_profile()
        kernels = self.profile_data.kernel_stat
        profile.answer = {
            "events": sum(event.type != EventTypes.MEMORY for event in self.profile_data.events),
            "kernels": 0 if kernels is None else int(kernels["count"].sum()),
            "kernel_ns": 0 if kernels is None else round(1000 * float(kernels["sum"].sum())),
        }
        return profile


# Here, as the process of a trace imports this file too.
loader.RunGenerator = CountingGenerator

if __name__ == "__main__":
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, Cache(folder) as cache:
        run = loader.RunLoader("run", sys.argv[1], cache).load()
    load_s = time.perf_counter() - begin
    answers = [profile.answer for profile in run.profiles.values() if hasattr(profile, "answer")]
    total = {key: sum(answer[key] for answer in answers) for key in ("events", "kernels", "kernel_ns")}
    print(json.dumps({"load_s": load_s, "traces": len(answers), **total}))
