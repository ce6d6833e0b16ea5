import { expect, test } from "vitest";
import { counterWords } from "./counter_names";

test.each([
  ["gpu0_power_watts", 250.504, "GPU 0 power", "250.5 W"],
  ["cpu_percent", 99.96, "CPU", "99.96 %"],
  ["disk_read_bytes_per_s", 31_755_708.5, "Disk read", "30.28 MiB/s"],
  ["process_rss_bytes", 2 ** 30, "Process RSS", "1.00 GiB"],
  ["disk_io_wait_percent", 0.5, "Disk IO wait", "0.5 %"],
  ["GPU Utilization", 70, "GPU Utilization", "70"],
  ["queue_length", 3, "queue_length", "3"],
])("%s of %d", (name, most, title, axis) => {
  expect(counterWords(name, name.endsWith("_bytes") ? "bytes" : "plain", most)).toEqual({ title, axis });
});
