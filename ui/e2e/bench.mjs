// How fast the timeline is, and what it holds: node e2e/bench.mjs --stepscope BIN --trace PATH [--seconds 10] [--views 300]
// [-o JSON] [--check rows,memory] [--pages FOLDER]
// PATH is a trace or a store; it is read before anything is measured. Bars that are missed are marked; those named by
// --check end with a failure. --pages measures a build that is not part of the command yet.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { tableFromIPC } from "@uwdata/flechette";
import { openPage, settled, startBrowser } from "./browser.mjs";
import { privateBytes, renderers } from "./memory.mjs";
import { moveAround, watchFrames } from "./motion.mjs";
import { randomNumbers } from "./random.mjs";
import { CATEGORIES, scriptTimes } from "./script_time.mjs";
import { startServer } from "./server.mjs";

const SEED = 5;
const WIDTH = 1400;
const TRACKS = 4;
const SMALLEST_VIEW_NS = 1000;

const { values } = parseArgs({
  options: {
    stepscope: { type: "string" },
    trace: { type: "string" },
    seconds: { type: "string", default: "10" },
    views: { type: "string", default: "300" },
    output: { type: "string", short: "o" },
    check: { type: "string", default: "" },
    pages: { type: "string" },
  },
});
if (!values.stepscope || !values.trace) {
  console.error("error: what is measured is missing; node e2e/bench.mjs --stepscope BIN --trace PATH");
  process.exit(2);
}

const server = await startServer(values.stepscope, [values.trace]);
const browser = await startBrowser();
const figures = {};
try {
  Object.assign(figures, await firstPaint());
  const views = await randomViews();
  Object.assign(figures, await tileRequests(views));
  Object.assign(figures, await pageInMotion(views));
} finally {
  await browser.close();
  await server.stop();
}
const missed = report(figures);
if (values.output) writeFileSync(values.output, `${JSON.stringify(figures, undefined, 2)}\n`);
process.exit(missed.some((name) => values.check.split(",").includes(name)) ? 1 : 0);

/** From the navigation until the lanes are on screen; the first time is the one that finds nothing warm. */
async function firstPaint() {
  const times = [];
  for (let turn = 0; turn < 3; turn++) {
    const { page, context } = await openTimeline();
    times.push((await page.evaluate(() => globalThis.watch)).firstPaintMs);
    await context.close();
  }
  return { first_paint_ms: times[0], first_paint_again_ms: quantile(times.slice(1), 0.5) };
}

async function openTimeline() {
  const opened = await openPage(browser, `${server.url}#/timeline`, { before: watchFrames, pages: values.pages });
  const hasPainted = () => globalThis.watch?.firstPaintMs !== undefined;
  await opened.page.waitForFunction(hasPainted, undefined, { timeout: 120_000 });
  return opened;
}

/** Views of any length at any place, each with the tracks that a page would ask for. */
async function randomViews() {
  const random = randomNumbers(SEED);
  const { run, sources } = (await server.askJson("api/session")).runs[0];
  const source = `rank=${sources[0].rank}&window=${sources[0].window}`;
  const base = `api/runs/${encodeURIComponent(run)}/timeline`;
  const outline = await server.askJson(`${base}?${source}`);
  const busiest = outline.tracks.sort((a, b) => b.spans - a.spans).slice(0, TRACKS);
  const whole = outline.end_ns - outline.start_ns;
  return Array.from({ length: Number(values.views) }, () => {
    const length = Math.min(whole, SMALLEST_VIEW_NS * (whole / SMALLEST_VIEW_NS) ** random());
    const from = Math.round(outline.start_ns + random() * (whole - length));
    const to = Math.round(from + length);
    return {
      hash: `#/timeline?view=${from - outline.zero_ns},${to - outline.zero_ns}`,
      tiles: busiest.map(({ track }) => `${base}/tracks/${track}?${source}&from=${from}&to=${to}&width=${WIDTH}`),
    };
  });
}

/** The tracks of a view are asked for together, as the page does. */
async function tileRequests(views) {
  const [times, rows] = [[], []];
  for (const { tiles } of views)
    await Promise.all(
      tiles.map(async (address) => {
        const start = performance.now();
        const answer = await server.ask(address);
        const bytes = new Uint8Array(await answer.arrayBuffer());
        times.push(performance.now() - start);
        if (!answer.ok) throw new Error(`${address}: ${new TextDecoder().decode(bytes)}`);
        rows.push(tableFromIPC(bytes).numRows);
      }),
    );
  return {
    tile_requests: times.length,
    tile_p50_ms: quantile(times, 0.5),
    tile_p95_ms: quantile(times, 0.95),
    tile_max_ms: Math.max(...times),
    most_rows: Math.max(...rows),
  };
}

async function pageInMotion(views) {
  const blank = await (await browser.newContext()).newPage();
  await blank.goto("about:blank");
  const held = async () => (await renderers(browser)).map(privateBytes);
  const blankBytes = Math.min(...(await held()));
  const { page, context } = await openTimeline();
  await settled(page);

  await page.keyboard.press("0");
  await settled(page);
  const box = await page.locator(".board-canvas canvas").last().boundingBox();
  await browser.startTracing(page, { categories: CATEGORIES });
  await page.evaluate(() => globalThis.watch.start());
  await moveAround(page, box, Number(values.seconds), randomNumbers(SEED));
  const watch = await page.evaluate(() => globalThis.watch.stop());
  const scripts = scriptTimes((await browser.stopTracing()).toString());
  const cpuMs = scripts.map((frame) => frame.cpuMs);

  for (const { hash } of views) {
    await page.evaluate((hash) => location.replace(hash), hash);
    await page.waitForTimeout(60);
  }
  await settled(page);
  // Renderers wait in reserve, so a new one need not be this page's; this page's is the one that holds most.
  const bytes = Math.max(...(await held()));
  await context.close();
  return {
    frames: watch.frames,
    current_frames_ratio: watch.current / watch.frames,
    inputs: watch.inputs,
    prompt_inputs_ratio: watch.prompt / watch.inputs,
    script_p50_ms: quantile(cpuMs, 0.5),
    script_p95_ms: quantile(cpuMs, 0.95),
    script_max_ms: Math.max(...cpuMs),
    script_wall_p95_ms: quantile(
      scripts.map((frame) => frame.wallMs),
      0.95,
    ),
    blank_page_bytes: blankBytes,
    page_bytes: bytes,
    memory_mb: (bytes - blankBytes) / 1e6,
  };
}

/** Prints every figure beside its bar; returns the names of the bars that were missed. */
function report(found) {
  const bars = [
    ["paint", "first_paint_ms", "at most", 1500],
    ["tiles", "tile_p95_ms", "at most", 50],
    ["rows", "most_rows", "at most", 20_000],
    ["memory", "memory_mb", "at most", 250],
    ["frames", "current_frames_ratio", "at least", 0.95],
    ["inputs", "prompt_inputs_ratio", "at least", 0.95],
    ["script", "script_p95_ms", "at most", 8],
  ];
  const missed = [];
  for (const [name, value] of Object.entries(found)) {
    const bar = bars.find(([, figure]) => figure === name);
    const isMet = !bar || (bar[2] === "at most" ? value <= bar[3] : value >= bar[3]);
    if (!isMet) missed.push(bar[0]);
    const verdict = bar ? `${bar[2]} ${bar[3]}: ${isMet ? "met" : "missed"}` : "";
    const digits = value.toFixed(Number.isInteger(value) ? 0 : 2);
    console.log(`${name.padEnd(22)} ${digits.padStart(12)}  ${verdict}`.trimEnd());
  }
  return missed;
}

function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}
