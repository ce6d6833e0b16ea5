// The tab in TensorBoard as a person finds it: node e2e/tensorboard.mjs URL [--pictures FOLDER]
// URL is TensorBoard's, with its path prefix. The runs must be read already.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startBrowser } from "./browser.mjs";
import { journeys } from "./journeys.mjs";

const LONGEST_WAIT_MS = 60_000;
const PAGES = ["timeline", "kernels", "operators", "sql", "overview"];

const { values, positionals } = parseArgs({ allowPositionals: true, options: { pictures: { type: "string" } } });
const [address] = positionals;
if (!address) {
  console.error("error: no address; node e2e/tensorboard.mjs URL");
  process.exit(2);
}
if (values.pictures) mkdirSync(values.pictures, { recursive: true });

const browser = await startBrowser();
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
const complaints = [];
page.on("pageerror", (error) => complaints.push(error.message));
page.on("console", (message) => {
  // TensorBoard has complaints of its own.
  if (message.type() === "error" && message.location().url.includes("/plugin/stepscope/"))
    complaints.push(message.text());
});
await page.goto(new URL("#stepscope", address).href);
const frame = await ourFrame();

const { runs } = await askFrame("api/session");
console.log(`runs in the tab: ${runs.map((run) => `${run.run} (${run.state})`).join(", ")}`);
if (runs.length < 2 || runs.some((run) => run.state !== "ready")) complaints.push("not all runs are ready");
for (const { run } of runs) {
  for (const name of PAGES) {
    await frame.evaluate((hash) => (location.hash = hash), `#/${name}?run=${encodeURIComponent(run)}`);
    await settled();
    const hasWords = await frame.evaluate(() => document.querySelector("main")?.innerText.trim().length > 40);
    if (!hasWords) complaints.push(`${run}, ${name}: the page is empty`);
    if (values.pictures) await page.screenshot({ path: join(values.pictures, `${run}-${name}.png`) });
  }
  // The last of the pages is the overview.
  await journeys["the overview shows the figures of metrics"](frame);
  console.log(`${run}: ok`);
}
await browser.close();
for (const complaint of complaints) console.error(`failed: ${complaint}`);
process.exit(complaints.length === 0 ? 0 : 1);

/** The frame in which TensorBoard shows our page. */
async function ourFrame() {
  const end = performance.now() + LONGEST_WAIT_MS;
  while (performance.now() < end) {
    const found = page.frames().find((frame) => frame.url().includes("/plugin/stepscope/page/"));
    if (found && (await found.evaluate(() => document.querySelector("main") !== null).catch(() => false))) return found;
    await page.waitForTimeout(200);
  }
  throw new Error("TensorBoard does not show our page");
}

function askFrame(path) {
  return frame.evaluate(async (path) => (await fetch(path)).json(), path);
}

async function settled() {
  const end = performance.now() + LONGEST_WAIT_MS;
  for (let quiet = 0; quiet < 3; ) {
    if (performance.now() > end) throw new Error("the page still waits for answers");
    await page.waitForTimeout(150);
    quiet = (await frame.evaluate(() => document.querySelector("main")?.ariaBusy !== "false")) ? 0 : quiet + 1;
  }
}
