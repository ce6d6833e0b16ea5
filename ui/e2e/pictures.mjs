// Pictures for the README and the docs: node e2e/pictures.mjs --stepscope BIN --into FOLDER RUN…
// Takes the overview, the comparison and the frames of a zoom on the timeline, in the dark and the light theme, and fails
// if a page that they show is gone.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openPage, startBrowser } from "./browser.mjs";
import { startServer } from "./server.mjs";

const WIDTH = 1280;
const HEIGHT = 800;
/** Sharp on a screen of many dots. */
const SCALE = 2;
const ZOOM_FRAMES = 40;

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
const { runs } = await server.askJson("api/session");
const [first, second] = runs.map((run) => run.run);

for (const theme of ["dark", "light"]) {
  const opened = await openPage(browser, server.url, { theme, width: WIDTH, height: HEIGHT, scale: SCALE });
  await take(opened, `#/overview?run=${first}`, "Findings", `overview-${theme}.png`);
  await take(opened, `#/timeline?run=${first}`, undefined, `timeline-${theme}.png`);
  if (second) await take(opened, `#/compare?a=${first}&b=${second}`, undefined, `compare-${theme}.png`);
  await opened.context.close();
}
await zoom();
await browser.close();
await server.stop();

async function take({ page, complaints, show }, hash, heading, name) {
  await show(hash);
  if (heading) await page.getByText(heading, { exact: true }).first().waitFor();
  if (complaints.length > 0) throw new Error(`${hash}: ${complaints.join("; ")}`);
  await page.screenshot({ path: join(values.into, name) });
  console.log(name);
}

/** From the whole run to single kernels. */
async function zoom() {
  const { page, context, show } = await openPage(browser, server.url, { theme: "dark", width: WIDTH, height: HEIGHT });
  await show(`#/timeline?run=${first}`);
  const box = await page.locator("canvas").first().boundingBox();
  if (!box) throw new Error("the timeline has no canvas");
  await page.mouse.move(box.x + box.width * 0.62, box.y + box.height * 0.5);
  for (let frame = 0; frame < ZOOM_FRAMES; frame++) {
    await page.screenshot({ path: join(values.into, "zoom", `${String(frame).padStart(3, "0")}.png`) });
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -120);
    await page.keyboard.up("Control");
    await page.waitForTimeout(120);
  }
  await context.close();
  console.log(`${ZOOM_FRAMES} frames of a zoom`);
}
