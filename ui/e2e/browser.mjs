// A browser for the tests: Debian's Chromium, software graphics, every complaint of a page counted.
import axe from "axe-core";
import { chromium } from "playwright-core";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";

export async function startBrowser() {
  return chromium.launch({
    executablePath: EXECUTABLE,
    args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
  });
}

/** A page of the server; `complaints` gathers errors, refused policies and requests to other hosts. */
export async function openPage(browser, address, { theme = "dark", width = 1440, height = 900 } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    bypassCSP: false,
  });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => undefined);
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on(
    "console",
    (message) =>
      ["error", "warning"].includes(message.type()) && complaints.push(`${message.type()}: ${message.text()}`),
  );
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.host !== new URL(address).host && url.protocol !== "blob:") complaints.push(`request to ${url.host}`);
  });
  await page.goto(address);
  const show = async (hash) => {
    await page.evaluate((hash) => (location.hash = hash), hash);
    await settled(page);
  };
  return { page, context, complaints, show };
}

/** Waits until nothing is asked any more and a frame has been drawn. */
export async function settled(page) {
  await page.waitForTimeout(150);
  await page.waitForLoadState("networkidle").catch(() => undefined);
  await page.waitForFunction(() => !document.querySelector(".hairline"), undefined, { timeout: 60_000 });
  await page.waitForTimeout(250);
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
