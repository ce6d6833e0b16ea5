// Walks through the pages as a person would: node e2e/run.mjs URL [--run RUN] [--widths 1280,1920] [--pictures FOLDER]
// [--only PAGE] [--pages-only] [--pages FOLDER]
// URL is what `stepscope open --no-open` prints, with its token. --pages names a build of the pages that stands in for
// the one in the command.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { accessibilityFindings, openPage, settled, startBrowser } from "./browser.mjs";
import { expectedComplaints, journeys } from "./journeys.mjs";
import { laneJourneys } from "./lanes.mjs";
import { layoutFaults, sizedJourneys } from "./layout.mjs";
import { searches } from "./search.mjs";
import { tableJourneys } from "./tables.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pictures: { type: "string" },
    run: { type: "string" },
    widths: { type: "string", default: "1440" },
    only: { type: "string" },
    "pages-only": { type: "boolean", default: false },
    pages: { type: "string" },
  },
});
const address = positionals[0] ?? process.env.STEPSCOPE_URL;
if (!address) {
  console.error("error: no address; give the one that `stepscope open --no-open` prints");
  process.exit(2);
}
if (values.pictures) mkdirSync(values.pictures, { recursive: true });

const LEAST_PAGES = 16;
const failures = [];
const browser = await startBrowser();
const chosen = values.run ? `?run=${encodeURIComponent(values.run)}` : "";

for (const width of values.widths.split(",").map(Number)) {
  for (const theme of ["dark", "light"]) {
    const { page, context, complaints, show } = await openPage(browser, address, {
      theme,
      width,
      height: Math.round(width * 0.625),
      pages: values.pages,
    });
    await settled(page);
    const links = await page.locator(".rail a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    const names = links.map((href) => /^#\/(\w+)/.exec(href)[1]);
    if (names.length < LEAST_PAGES) failures.push(`the rail has ${names.length} pages only`);
    for (const name of names.filter((name) => !values.only || name === values.only)) {
      await show(`#/${name}${chosen}`);
      const found = await accessibilityFindings(page);
      failures.push(...found.map((finding) => `${name}, ${theme}, ${width}: ${finding}`));
      failures.push(...complaints.splice(0).map((complaint) => `${name}, ${theme}, ${width}: ${complaint}`));
      failures.push(...(await layoutFaults(page)).map((fault) => `${name}, ${theme}, ${width}: ${fault}`));
      // Texts of a hostile trace try to set this.
      if (await page.evaluate(() => "executed" in globalThis))
        failures.push(`${name}, ${theme}, ${width}: a text of the trace was executed`);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      if (wider) failures.push(`${name}, ${theme}, ${width}: the page is wider than the screen`);
      if (values.pictures) await page.screenshot({ path: join(values.pictures, `${name}-${theme}-${width}.png`) });
      console.log(`${name}, ${theme}, ${width}: ${found.length === 0 ? "ok" : `${found.length} findings`}`);
    }
    await context.close();
  }
}

const ofSize = Object.entries(sizedJourneys).filter(([name]) => name.startsWith(`${values.run}:`));
const ofAll = Object.entries({ ...journeys, ...laneJourneys, ...searches, ...tableJourneys });
for (const [name, journey] of values.only || values["pages-only"] ? ofSize : ofAll) {
  const { page, context, complaints, show } = await openPage(browser, address, { pages: values.pages });
  await settled(page);
  try {
    await show(`#/overview${chosen}`);
    await journey(page, show, chosen);
    console.log(`${name}: ok`);
  } catch (error) {
    failures.push(`${name}: ${error.message.split("\n").slice(0, 3).join(" ")}`);
    if (values.pictures)
      await page.screenshot({ path: join(values.pictures, `failed-${name.replaceAll(/\W+/g, "-")}.png`) });
  }
  failures.push(
    ...complaints
      .filter((complaint) => !expectedComplaints[name]?.test(complaint))
      .map((complaint) => `${name}: ${complaint}`),
  );
  await context.close();
}

await browser.close();
for (const failure of failures) console.error(`failed: ${failure}`);
console.log(failures.length === 0 ? "all pages and journeys are fine" : `${failures.length} failures`);
process.exit(failures.length === 0 ? 0 : 1);
