// Writes runs of other sizes than pages are drawn for: node e2e/sized_traces.mjs FOLDER [RUN…]
// steps-1, steps-96 and steps-10000: one rank with as many steps. ranks-1024: one job of as many ranks, four steps each.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { randomNumbers } from "./random.mjs";

const [folder, ...wanted] = process.argv.slice(2);
if (!folder) {
  console.error("error: no folder; node e2e/sized_traces.mjs FOLDER [RUN…]");
  process.exit(2);
}

const KERNELS = [
  "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8::Params)",
  "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
  "void at::native::batch_norm_collect_statistics_channels_last_kernel<at::native::Var, float, float, int, 4>(float const*, float*, float*, float*, int*, int, int)",
  "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>, false, false, false>(Flash_fwd_params)",
];
const OPERATORS = ["aten::mm", "aten::add_", "aten::native_batch_norm", "aten::_scaled_dot_product_flash_attention"];
const EPOCH = 1_700_000_000_000_000;
const STREAM = 7;

/** Adds the events of one step that starts at `start` (µs); `pace` stretches the work on the device. */
function step(list, number, start, length, pace, correlation) {
  const host = (cat, name, at, dur, args = {}) =>
    list.push({ ph: "X", cat, name, pid: 4711, tid: 4711, ts: start + at, dur, args });
  const device = (cat, name, at, dur, args) =>
    list.push({ ph: "X", cat, name, pid: 0, tid: STREAM, ts: start + at, dur, args: { device: 0, stream: STREAM, ...args } });
  host("user_annotation", `ProfilerStep#${number}`, 0, length - 2);
  host("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 4, 60);
  host("cpu_op", "aten::copy_", 70, 40, { "Input Dims": [[64, 3, 224, 224], [64, 3, 224, 224]] });
  host("cuda_runtime", "cudaMemcpyAsync", 80, 20, { correlation });
  device("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 110, 30, { correlation, bytes: 38_535_168 });
  for (let op = 0; op < OPERATORS.length; op++) {
    const at = 150 + op * 100;
    host("cpu_op", OPERATORS[op], at, 60, { "Input Dims": [[4096, 1024], [1024, 1024]] });
    host("cuda_runtime", "cudaLaunchKernel", at + 20, 10, { correlation: correlation + op + 1 });
    device("kernel", KERNELS[op], at + 40, Math.round(50 * pace), { correlation: correlation + op + 1 });
  }
  return correlation + OPERATORS.length + 1;
}

/** What one allocation and its release say. */
const memory = (ts, bytes, total) => ({
  ph: "i", s: "t", name: "[memory]", cat: "cpu_instant_event", pid: 4711, tid: 4711, ts,
  args: { "Device Type": 1, "Device Id": 0, Addr: 4096, Bytes: bytes, "Total Allocated": total, "Total Reserved": 2 ** 31 },
});

const HEADS = [
  { ph: "M", name: "process_name", pid: 4711, tid: 0, args: { name: "python" } },
  { ph: "M", name: "process_labels", pid: 4711, tid: 0, args: { labels: "CPU" } },
  { ph: "M", name: "process_name", pid: 0, tid: 0, args: { name: "python" } },
  { ph: "M", name: "process_labels", pid: 0, tid: 0, args: { labels: "GPU 0" } },
  { ph: "M", name: "thread_name", pid: 0, tid: STREAM, args: { name: `stream ${STREAM}` } },
];
const DEVICES = [{ id: 0, name: "NVIDIA A100-SXM4-80GB", totalGlobalMem: 85_899_345_920, computeMajor: 8, computeMinor: 0, numSms: 108 }];

function write(run, file, traceEvents, more = {}) {
  mkdirSync(join(folder, run), { recursive: true });
  writeFileSync(join(folder, run, file), JSON.stringify({ schemaVersion: 1, deviceProperties: DEVICES, ...more, traceEvents }));
}

/** Steps of about 600 µs; every fortieth is slow, so that no two figures of a chart are alike. */
function stepsRun(count) {
  const random = randomNumbers(count);
  const list = [...HEADS];
  let correlation = 1;
  let start = EPOCH;
  for (let number = 0; number < count; number++) {
    const length = 600 + Math.round(random() * 80) + (number % 40 === 39 ? 400 : 0);
    list.push(memory(start + 75, 38_535_168, 2 ** 30 + 38_535_168));
    correlation = step(list, number, start, length, 0.7 + random() * 0.3, correlation);
    list.push(memory(start + 590, -38_535_168, 2 ** 30));
    start += length;
  }
  write(`steps-${count}`, "trainer-node-0017.pt.trace.json", list);
}

/** Ranks that reduce once a step: whoever comes late lets the others wait. Rank 700 always does. */
function ranksRun(count) {
  const random = randomNumbers(count);
  const STEPS = 4;
  const LENGTH = 1000;
  const late = Array.from({ length: count }, (_, rank) =>
    Array.from({ length: STEPS }, () => Math.round(random() * 60) + (rank === 700 ? 250 : 0)));
  const ends = Array.from({ length: STEPS }, (_, number) => 560 + Math.max(...late.map((steps) => steps[number])) + 40);
  for (let rank = 0; rank < count; rank++) {
    const list = [...HEADS];
    let correlation = 1;
    for (let number = 0; number < STEPS; number++) {
      const start = EPOCH + number * LENGTH;
      correlation = step(list, number, start, LENGTH, 0.9, correlation);
      const begin = 560 + late[rank][number];
      list.push({ ph: "X", cat: "cpu_op", name: "c10d::allreduce_", pid: 4711, tid: 4711, ts: start + begin - 12, dur: 9, args: {} });
      list.push({ ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernelExC", pid: 4711, tid: 4711, ts: start + begin - 10, dur: 5, args: { correlation } });
      list.push({
        ph: "X", cat: "kernel", name: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        pid: 0, tid: STREAM, ts: start + begin, dur: ends[number] - begin,
        args: {
          device: 0, stream: STREAM, correlation, "Collective name": "allreduce", dtype: "BFloat16",
          "In msg nelems": 4_194_304, "Out msg nelems": 4_194_304, "Group size": count, "Process Group Name": "0",
          "Process Group Description": "default_pg", Seq: number,
        },
      });
      correlation += 1;
    }
    const distributedInfo = { backend: "nccl", rank, world_size: count, pg_count: 1,
      pg_config: [{ pg_name: "0", pg_desc: "default_pg", backend_config: "cuda:nccl", pg_size: count }] };
    write(`ranks-${count}`, `rank${rank}.pt.trace.json`, list, { distributedInfo });
  }
}

const RUNS = {
  "steps-1": () => stepsRun(1),
  "steps-96": () => stepsRun(96),
  "steps-10000": () => stepsRun(10_000),
  "ranks-1024": () => ranksRun(1024),
};
for (const run of wanted.length > 0 ? wanted : Object.keys(RUNS)) RUNS[run]();
