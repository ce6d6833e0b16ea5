// What people do, one function each. They hold for any training run with a device and several steps.
import assert from "node:assert/strict";
import { addressOf, settled } from "./browser.mjs";

const hash = addressOf;
const lanes = (page) => page.locator(".board-canvas canvas").last();

/** What a journey provokes on purpose. */
export const expectedComplaints = { "a statement completes, runs and tells its errors": /status of 400/ };

export const journeys = {
  "keys lead to every page": async (page) => {
    for (const [key, name] of [
      ["t", "timeline"],
      ["p", "operators"],
      ["k", "kernels"],
      ["m", "modules"],
      ["x", "transfers"],
      ["c", "communication"],
      ["y", "memory"],
      ["d", "distributed"],
      ["=", "compare"],
      ["s", "sql"],
      ["o", "overview"],
    ]) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      assert.match(await hash(page), new RegExp(`^#/${name}`));
    }
  },

  "the help sheet opens and closes": async (page) => {
    await page.keyboard.press("?");
    assert.equal(await page.locator("dialog[open]").count(), 1);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { state: "detached" });
  },

  "theme and rail are choices of this machine": async (page) => {
    const before = await page.getAttribute("html", "data-theme");
    await page.keyboard.press("t");
    assert.notEqual(await page.getAttribute("html", "data-theme"), before);
    await page.keyboard.press("\\");
    assert.match(await page.getAttribute(".app", "class"), /slim/);
    assert.doesNotMatch(await hash(page), /theme|rail/);
  },

  "health opens from every page": async (page) => {
    await page.click("[aria-label^='Trace health']");
    await page.waitForSelector("dialog[open] tbody tr");
    await page.keyboard.press("Escape");
  },

  "steps are chosen by key, and taken back": async (page) => {
    await page.keyboard.press("]");
    const first = Number(/steps=(\d+)/.exec(await hash(page))[1]);
    await page.keyboard.press("]");
    assert.match(await hash(page), new RegExp(`steps=${first + 1}\\b`));
    await page.keyboard.press("Escape");
    assert.doesNotMatch(await hash(page), /steps=/);
  },

  "the overview shows the figures of metrics": async (page) => {
    const run = await page
      .locator(".topbar .sel >> nth=0")
      .locator("select, b")
      .evaluate((field) => field.value ?? field.textContent);
    const { metrics } = await page.evaluate(
      async (run) =>
        (
          await fetch(
            `api/runs/${encodeURIComponent(run)}/metrics?window=0&rank=` +
              (await (await fetch("api/session")).json()).runs.find((each) => each.run === run).sources[0].rank,
          )
        ).json(),
      run,
    );
    const unit = (await page.locator(".legend th >> nth=1").innerText()).startsWith("µs") ? 1e3 : 1e6;
    const classes = [
      "kernel",
      "memcpy",
      "memset",
      "communication",
      "runtime",
      "dataloader",
      "cpu_exec",
      "other",
      "total",
    ];
    const shown = await page.locator(".legend tbody td:nth-child(2)").allInnerTexts();
    classes.forEach((name, place) => assertShown(shown[place], metrics.breakdown_average[`${name}_ns`] / unit, name));
    const figures = await page.locator(".stat .v").allInnerTexts();
    const device = Object.values(metrics.gpu)[0];
    if (device) assertShown(figures[1], 100 * device.gpu_utilization_ratio, "utilization");
  },

  "a table sorts, filters and expands": async (page, show, chosen) => {
    await show(`#/operators${chosen}`);
    const names = () => page.locator(".grid .row:not(.head):not(.sub) .ends").allTextContents();
    const before = await names();
    await page.click("[role=columnheader] button:has-text('Operator')");
    assert.match(await hash(page), /sort=name/);
    assert.notDeepEqual(await names(), before);
    await page.keyboard.press("/");
    await page.keyboard.type("aten::add");
    await settled(page);
    const filtered = await names();
    assert.ok(
      filtered.length > 0 && filtered.every((name) => name.includes("add")),
      `filter leaves ${filtered.join(", ")}`,
    );
    assert.match(await hash(page), /q=aten::add/);
    await page.keyboard.press("Escape");
    await page.click(".twisty >> nth=0");
    await page.waitForSelector(".row.sub");
  },

  "the same address shows the same thing": async (page, show, chosen) => {
    const join = chosen ? "&" : "?";
    await show(`#/operators${chosen}${join}sort=-host_self_ns&q=conv`);
    const first = await page.locator(".grid").innerText();
    await page.reload();
    await settled(page);
    assert.equal(await page.locator(".grid").innerText(), first);
  },

  "the timeline zooms, selects and walks": async (page, show, chosen) => {
    await show(`#/timeline${chosen}`);
    const before = await page.locator(".minimap .corner b").innerText();
    await lanes(page).hover({ position: { x: 600, y: 200 } });
    for (let i = 0; i < 6; i++) await page.keyboard.press("w");
    await settled(page);
    assert.notEqual(await page.locator(".minimap .corner b").innerText(), before);
    assert.match(await hash(page), /view=/);
    await selectSomething(page);
    await page.waitForSelector(".pane h2");
    const first = await hash(page);
    await page.keyboard.press("ArrowRight");
    await settled(page);
    assert.notEqual(await hash(page), first);
    await page.keyboard.press("f");
    await page.keyboard.press("0");
    await settled(page);
    await page.goBack();
  },

  "a drag chooses a range, and says what ran in it": async (page, show, chosen) => {
    await show(`#/timeline${chosen}`);
    const box = await lanes(page).boundingBox();
    await page.mouse.move(box.x + 200, box.y + box.height - 40);
    await page.mouse.down();
    await page.mouse.move(box.x + 400, box.y + box.height - 40, { steps: 4 });
    await page.mouse.up();
    await page.waitForSelector(".pane section:first-child table tbody tr");
    assert.match(await hash(page), /from=-?\d+&to=\d+/);
    const shares = await page.locator(".pane section:first-child td:last-child").allTextContents();
    const sum = shares.reduce((total, share) => total + (Number.parseFloat(share) || 0), 0);
    assert.ok(Math.abs(sum - 100) < 1, `shares add up to ${sum}`);
    await page.keyboard.press("m");
    assert.match(await hash(page), /marks=-?\d+:\d+/);
    await page.keyboard.press("m");
    assert.doesNotMatch(await hash(page), /marks=/);
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    await settled(page);
    assert.equal(await page.locator(".topbar .chip").count(), 1);
    await page.keyboard.press("Escape");
    await page.waitForSelector(".topbar .chip", { state: "detached" });
  },

  "search counts, marks and walks its matches": async (page, show, chosen) => {
    await show(`#/timeline${chosen}`);
    await page.keyboard.press("/");
    await page.keyboard.type("conv");
    await page.waitForSelector("text=/\\d+ match/");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".pane h2");
    assert.match(await hash(page), /sel=\d+/);
  },

  "a statement completes, runs and tells its errors": async (page, show, chosen) => {
    await show(`#/sql${chosen}`);
    await page.fill("textarea", "");
    await page.click("textarea");
    await page.keyboard.type("SELECT count(*) AS events FROM spa");
    await page.waitForSelector(".proposals li");
    await page.keyboard.press("Tab");
    assert.equal(await page.inputValue("textarea"), "SELECT count(*) AS events FROM spans");
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".grid .row .cell.num");
    await page.fill("textarea", "SELECT nothing FROM spans");
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector("[role=alert]");
  },
};

/** A figure on the page is the exact one, rounded to the digits it shows. */
function assertShown(text, exact, what) {
  const digits = /[\d,]+(?:\.(\d+))?/.exec(text.replace("< ", ""));
  assert.ok(digits, `${what}: ${text} is no number`);
  const value = Number(digits[0].replaceAll(",", ""));
  const half = 0.5000001 * 10 ** -(digits[1]?.length ?? 0);
  assert.ok(
    Math.abs(value - exact) <= half || (text.includes("<") && exact < value),
    `${what}: the page shows ${text}, metrics say ${exact}`,
  );
}

/** Clicks across the lanes until a span is hit. */
async function selectSomething(page) {
  const box = await lanes(page).boundingBox();
  for (let y = 70; y < box.height; y += 17) {
    for (const x of [0.5, 0.3, 0.7]) {
      await page.mouse.click(box.x + box.width * x, box.y + y);
      await page.waitForTimeout(80);
      if (/sel=\d+/.test(await hash(page))) return;
    }
  }
  throw new Error("no span could be selected");
}
