// Pictures for the README and the docs: node e2e/pictures.mjs --stepscope BIN --into FOLDER RUN…
// Takes the overview, the comparison and the frames of a zoom on the timeline, in the dark and the light theme, and fails
// if a page that they show is gone.
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { openPage, settled, startBrowser } from "./browser.mjs";
import { startServer } from "./server.mjs";

const WIDTH = 1440;
const HEIGHT = 1000;
/** Sharp on a screen of many dots. */
const SCALE = 1.5;
const ZOOM_FRAMES = 20;
/** Where small kernels follow one another, as a share of the width. */
const ZOOM_AT = 0.583;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { stepscope: { type: "string" }, into: { type: "string" } },
});
if (!values.stepscope || !values.into || positionals.length === 0) {
  console.error("error: missing arguments; node e2e/pictures.mjs --stepscope BIN --into FOLDER RUN…");
  process.exit(2);
}
mkdirSync(join(values.into, "zoom"), { recursive: true });

const server = await startServer(values.stepscope, positionals);
const browser = await startBrowser();
const [first, second] = positionals.map((path) => basename(path));

for (const theme of ["dark", "light"]) {
  const opened = await openPage(browser, server.url, { theme, width: WIDTH, height: HEIGHT, scale: SCALE });
  await take(opened, `#/overview?run=${first}`, "Findings", `overview-${theme}.png`);
  if (second) await take(opened, `#/compare?a=${first}&b=${second}`, undefined, `compare-${theme}.png`);
  await opened.context.close();
}
await zoom();
await browser.close();
await server.stop();

async function take({ page, complaints, show }, hash, heading, name) {
  await show(hash);
  if (heading) await page.getByText(heading, { exact: true }).first().waitFor();
  await page.locator(".hairline").waitFor({ state: "hidden" });
  if (complaints.length > 0) throw new Error(`${hash}: ${complaints.join("; ")}`);
  await page.screenshot({ path: join(values.into, name) });
  console.log(name);
}

/** From the whole run to single kernels. */
async function zoom() {
  const { page, context, show } = await openPage(browser, server.url, { theme: "dark", width: WIDTH, height: HEIGHT });
  await show(`#/timeline?run=${first}`);
  await page.keyboard.press("0");
  const box = await page.locator(".board-canvas canvas").last().boundingBox();
  if (!box) throw new Error("the timeline has no lanes");
  await page.mouse.move(box.x + box.width * ZOOM_AT, box.y + 200, { steps: 3 });
  for (let frame = 0; frame < ZOOM_FRAMES; frame++) {
    await settled(page);
    await page.screenshot({ path: join(values.into, "zoom", `${String(frame).padStart(3, "0")}.png`) });
    await page.keyboard.press("w");
  }
  await context.close();
  console.log(`${ZOOM_FRAMES} frames of a zoom`);
}
