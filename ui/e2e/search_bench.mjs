// How fast a search in the timeline goes from match to match, and whether it reaches all of them:
// node e2e/search_bench.mjs --stepscope BIN --trace PATH [--text aten::mm] [--steps 200] [-o JSON] [--check next,reached]
// [--pages FOLDER]
// Every match is asked for once from the server, in both directions at the ends; the time is what a person waits in the
// page, from the key until the match is outlined and its place among all is on screen.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { openPage, settled, startBrowser } from "./browser.mjs";
import { startServer } from "./server.mjs";

const { values } = parseArgs({
  options: {
    stepscope: { type: "string" },
    trace: { type: "string" },
    text: { type: "string", default: "aten::mm" },
    steps: { type: "string", default: "200" },
    output: { type: "string", short: "o" },
    check: { type: "string", default: "" },
    pages: { type: "string" },
  },
});
if (!values.stepscope || !values.trace) {
  console.error("error: what is measured is missing; node e2e/search_bench.mjs --stepscope BIN --trace PATH");
  process.exit(2);
}

const server = await startServer(values.stepscope, [values.trace]);
const browser = await startBrowser();
const figures = {};
try {
  Object.assign(figures, await walkOnServer());
  Object.assign(figures, await walkInPage());
} finally {
  await browser.close();
  await server.stop();
}
const bars = [
  ["next", "next_match_p95_ms", (value) => value <= 100, "at most 100"],
  ["reached", "matches_reached", (value) => value === figures.matches, `all ${figures.matches}`],
];
const missed = [];
for (const [name, value] of Object.entries(figures)) {
  const bar = bars.find(([, figure]) => figure === name);
  const isMet = !bar || bar[2](value);
  if (!isMet) missed.push(bar[0]);
  const verdict = bar ? `${bar[3]}: ${isMet ? "met" : "missed"}` : "";
  const digits = value.toFixed(Number.isInteger(value) ? 0 : 2);
  console.log(`${name.padEnd(22)} ${digits.padStart(12)}  ${verdict}`.trimEnd());
}
if (values.output) writeFileSync(values.output, `${JSON.stringify(figures, undefined, 2)}\n`);
process.exit(missed.some((name) => values.check.split(",").includes(name)) ? 1 : 0);

/** Walks through all matches by the question that the page asks; each must be the next one, and none may come twice. */
async function walkOnServer() {
  const { run, sources } = (await server.askJson("api/session")).runs[0];
  const asked = `q=${encodeURIComponent(values.text)}&rank=${sources[0].rank}&window=${sources[0].window}`;
  const base = `api/runs/${encodeURIComponent(run)}/search`;
  const began = performance.now();
  const { count } = await server.askJson(`${base}?${asked}`);
  const firstMs = performance.now() - began;
  const [times, reached] = [[], new Set()];
  let from = "from=-1";
  for (let place = 1; place <= count; place++) {
    const start = performance.now();
    const step = await server.askJson(`${base}/step?${asked}&${from}`);
    times.push(performance.now() - start);
    if (step.place !== place) throw new Error(`step ${place} of ${count} leads to ${step.place}`);
    reached.add(step.found.span_id);
    from = `from=${step.found.start_ns}&span=${step.found.span_id}`;
  }
  const around = await server.askJson(`${base}/step?${asked}&${from}`);
  if (count > 0 && around.place !== 1) throw new Error(`behind the last match comes ${around.place}`);
  return {
    matches: count,
    matches_reached: reached.size,
    first_count_ms: firstMs,
    step_p95_ms: quantile(times, 0.95),
  };
}

/** Presses Enter in the search field, from the start of the recording. */
async function walkInPage() {
  const { page, context } = await openPage(browser, `${server.url}#/timeline`, { pages: values.pages });
  await page.waitForSelector(".board[data-drawn]", { timeout: 120_000 });
  await settled(page);
  await page.keyboard.press("0");
  await settled(page);
  await page.keyboard.press("/");
  await page.keyboard.type(values.text);
  await page.waitForSelector("text=/^[\\d,]+ match/", { timeout: 120_000 });
  await settled(page);
  const times = await page.evaluate(async (steps) => {
    const times = [];
    const field = document.querySelector("main input[type=search]");
    const words = () => document.querySelector(".walk [role=status]").textContent;
    for (let place = 1; place <= steps; place++) {
      const before = performance.now();
      field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
      const wanted = `${place.toLocaleString("en-US")} of `;
      while (!words().startsWith(wanted)) {
        if (performance.now() - before > 10_000) throw new Error(`${words()} in place of ${wanted}`);
        await new Promise((drawn) => requestAnimationFrame(drawn));
      }
      // The frame that shows it.
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      times.push(performance.now() - before);
    }
    return times;
  }, Number(values.steps));
  await page.waitForSelector(".pane h2", { timeout: 120_000 });
  await context.close();
  return { next_match_p50_ms: quantile(times, 0.5), next_match_p95_ms: quantile(times, 0.95) };
}

function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}
