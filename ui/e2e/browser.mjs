// A browser for the tests: Debian's Chromium, software graphics, every complaint of a page counted.
import { join } from "node:path";
import axe from "axe-core";
import { chromium } from "playwright-core";

const LONGEST_WAIT_MS = 180_000;
/** What is asked for follows the screen, not the length of the recording. */
const MOST_COLUMNS = 2000;
const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";

export async function startBrowser() {
  return chromium.launch({
    executablePath: EXECUTABLE,
    // As Chromium runs where there is no graphics card: WebGL in software, and the page put together without it.
    args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing"],
  });
}

/**
 * A page of the server; `complaints` gathers errors, refused policies and requests to other hosts. `before` runs in the
 * page before anything of its own; `pages` is a folder that stands in for the pages in the command.
 */
export async function openPage(browser, address, { theme = "dark", width = 1440, height = 900, scale = 1, before, pages } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: scale,
    colorScheme: theme,
    reducedMotion: "reduce",
    bypassCSP: false,
  });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => undefined);
  const page = await context.newPage();
  if (before) await page.addInitScript(before);
  if (pages) await standIn(page, address, pages);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type())) return;
    // Without a graphics card every frame of WebGL is read back.
    if (!message.text().includes("GPU stall due to ReadPixels"))
      complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.host !== new URL(address).host && url.protocol !== "blob:") complaints.push(`request to ${url.host}`);
    const columns = url.pathname.endsWith("/timeline/counters") ? Number(url.searchParams.get("width")) : 0;
    if (columns > MOST_COLUMNS) complaints.push(`curves of ${columns} columns, more than any screen has`);
  });
  await page.goto(pages ? address.replace(/\?token=\w+/, "") : address);
  const show = async (hash) => {
    await page.evaluate((hash) => (location.hash = hash), hash);
    await settled(page);
  };
  return { page, context, complaints, show };
}

/** Serves the files of a folder as pages, with the cookie that the real page would have set. */
async function standIn(page, address, folder) {
  const { port, origin, searchParams } = new URL(address);
  await page.context().addCookies([{ name: `stepscope-${port}`, value: searchParams.get("token"), url: origin }]);
  await page.route(
    (url) => !url.pathname.startsWith("/api/"),
    (route) => route.fulfill({ path: join(folder, new URL(route.request().url()).pathname.slice(1) || "index.html") }),
  );
}

/** Waits until nothing has been asked for a while, and a frame has been drawn. */
export async function settled(page) {
  const isBusy = () => document.querySelector("main")?.ariaBusy !== "false";
  const end = performance.now() + LONGEST_WAIT_MS;
  for (let quiet = 0; quiet < 2; ) {
    if (performance.now() > end) throw new Error("the page still waits for answers");
    await page.waitForTimeout(150);
    quiet = (await page.evaluate(isBusy)) ? 0 : quiet + 1;
  }
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}

/** The address, once small changes have been written into it: the page waits for a rest of a tenth of a second. */
export function addressOf(page) {
  const rested = () => new Promise((resolve) => setTimeout(() => resolve(decodeURIComponent(location.hash)), 250));
  return page.evaluate(rested);
}

/** Serious findings of axe-core on what is on screen. */
export async function accessibilityFindings(page) {
  // Through the debugger, as the policy of the page refuses scripts that it does not know.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter((violation) => violation.impact === "serious" || violation.impact === "critical")
    .map(
      (violation) =>
        `${violation.id}: ${violation.help} (${violation.nodes
          .slice(0, 3)
          .map((node) => node.target.join(" "))
          .join("; ")})`,
    );
}
