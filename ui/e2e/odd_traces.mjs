// Writes traces that pages must survive: node e2e/odd_traces.mjs FOLDER
// hostile: every text is markup or script. cut: the file ends in the middle. empty: no events.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
if (!folder) {
  console.error("error: no folder; node e2e/odd_traces.mjs FOLDER");
  process.exit(2);
}

const PAYLOADS = [
  `<img src=x onerror="globalThis.executed = 1">`,
  `<script>globalThis.executed = 1</script>`,
  `"><svg onload="globalThis.executed = 1">`,
  `${"javascript"}:globalThis.executed=1`,
  "{{constructor.constructor('globalThis.executed = 1')()}}",
  `</style><style>*{display:none}`,
];
let turn = 0;
const hostile = (before = "") => before + PAYLOADS[turn++ % PAYLOADS.length];
const plain = (before = "") => before || "name";

/** Steps with operators, launches, kernels, copies, memory, regions and collectives; `text` makes every text. */
function events(text) {
  const list = [
    { ph: "M", name: "process_name", pid: 1, tid: 0, args: { name: text("python ") } },
    { ph: "M", name: "process_labels", pid: 1, tid: 0, args: { labels: text() } },
    { ph: "M", name: "thread_name", pid: 1, tid: 7, args: { name: text("thread ") } },
    { ph: "M", name: "process_name", pid: 0, tid: 0, args: { name: text("GPU ") } },
    { ph: "M", name: "thread_name", pid: 0, tid: 3, args: { name: text("stream ") } },
  ];
  let correlation = 1;
  for (let step = 0; step < 4; step++) {
    const start = step * 1000;
    const span = (cat, name, at, dur, args = {}) =>
      list.push({ ph: "X", cat, name, pid: 1, tid: 7, ts: start + at, dur, args });
    span("user_annotation", `ProfilerStep#${step}`, 0, 990);
    span("user_annotation", text("region "), 10, 900);
    span("python_function", text("frame.py(1): "), 15, 890, { "Python id": step * 2 + 1 });
    span("python_function", text("nn.Module: "), 16, 880, { "Python id": step * 2 + 2, "Python module id": 0 });
    for (let op = 0; op < 6; op++) {
      const at = 20 + op * 140;
      const args = { "Input Dims": [[4, 4], [4, 4]], "Input type": [text(), text()], [text("key ")]: text() };
      span("cpu_op", op === 0 ? "aten::mm" : text("op "), at, 120, args);
      span("cuda_runtime", op === 5 ? "cudaMemcpyAsync" : "cudaLaunchKernel", at + 20, 10, { correlation });
      const [cat, name] = op === 5 ? ["gpu_memcpy", `Memcpy HtoD (Pageable -> Device)`] : ["kernel", text("kernel ")];
      const device = { device: 0, stream: 3, correlation, bytes: op === 5 ? 4096 : undefined, [text("key ")]: text() };
      const collective = op === 4 ? { "Collective name": text("all"), "Process Group Name": text("group") } : {};
      list.push({ ph: "X", cat, name, pid: 0, tid: 3, ts: start + at + 60, dur: 70, args: { ...device, ...collective } });
      const memory = { "Device Type": 1, "Device Id": 0, Addr: op + 1, Bytes: step % 2 ? -1024 : 1024, "Total Allocated": 4096 };
      list.push({ ph: "i", s: "t", name: "[memory]", cat: "cpu_instant_event", pid: 1, tid: 7, ts: start + at + 5, args: memory });
      list.push({ ph: "C", name: text("counter "), pid: 1, ts: start + at, args: { [text("series ")]: op } });
      correlation += 1;
    }
  }
  return list;
}

function write(run, content) {
  mkdirSync(join(folder, run), { recursive: true });
  writeFileSync(join(folder, run, "trace.json"), content);
}

const trace = (text) => JSON.stringify({ schemaVersion: 1, [text("key ")]: text(), traceEvents: events(text) });
write("hostile", trace(hostile));
write("cut", trace(plain).slice(0, -3000));
write("empty", JSON.stringify({ schemaVersion: 1, traceEvents: [] }));
