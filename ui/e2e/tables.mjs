// What people do with tables, one function each. They hold for any run; what a run does not have is left out.
import assert from "node:assert/strict";
import { addressOf, settled } from "./browser.mjs";

const TABLES = ["operators", "kernels", "modules", "transfers", "communication", "steps", "launches", "regions"];

const hash = async (page) => (await addressOf(page)).replaceAll("+", " ");
const address = (name, chosen, more) => `#/${name}${chosen}${chosen ? "&" : "?"}${more}`;
const rows = (page) => page.locator(".grid .body .row:not(.sub):not(.detail)");
const texts = async (locator) => (await locator.allInnerTexts()).map((text) => text.trim());

/** The cells of all rows on screen, as people read them. */
const cells = (page) =>
  rows(page).evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll(".cell")].map((cell) => cell.textContent)));

async function runOf(page) {
  const runs = (await page.evaluate(async () => (await fetch("api/session")).json())).runs;
  const name = new URLSearchParams((await hash(page)).split("?")[1]).get("run");
  return runs.find((run) => run.run === name) ?? runs.find((run) => run.state === "ready");
}

/** The address of a run with several ranks, if there is one: the run of the walk may have one only. */
async function severalRanks(page) {
  const { runs } = await page.evaluate(async () => (await fetch("api/session")).json());
  // A run that has sums alone has no events to lead to.
  const isOfRanks = ({ sources }) => sources.some((source) => source.events > 0 && source.rank !== sources[0].rank);
  const found = runs.find(isOfRanks);
  return found && `?run=${encodeURIComponent(found.run)}`;
}

export const tableJourneys = {
  "rows grouped by stack or shape differ in what they show": async (page, show, chosen) => {
    for (const group of ["stack", "input_shape"]) {
      await show(address("operators", chosen, `group=${group}`));
      const shown = await page.evaluate(() =>
        [...document.querySelectorAll(".grid .body .row:not(.sub):not(.detail)")].map((row) =>
          // The title holds a text in full that the width of a cell may cut.
          [...row.querySelectorAll(".cell")].slice(0, 2).map((cell) => cell.textContent).join(" | "),
        ),
      );
      assert.ok(shown.length > 0, `no rows by ${group}`);
      assert.equal(new Set(shown).size, shown.length, `equal rows by ${group}: ${repeated(shown)}`);
    }
  },

  "kernels have different labels": async (page, show, chosen) => {
    await show(`#/kernels${chosen}`);
    const names = (await cells(page)).map((row) => row[0]);
    assert.equal(new Set(names).size, names.length, `equal kernels: ${repeated(names)}`);
    assert.ok((await texts(page.locator("[role=columnheader]"))).includes("Tensor cores"), "no column of tensor cores");
  },

  "every table lists each column once": async (page, show, chosen) => {
    for (const name of TABLES) {
      await show(`#/${name}${chosen}`);
      if ((await page.locator(".toolbar button:has-text('Columns')").count()) === 0) continue;
      await page.click(".toolbar button:has-text('Columns')");
      const listed = (await texts(page.locator(".popover label"))).map((text) => text.toLowerCase());
      assert.equal(new Set(listed).size, listed.length, `${name} repeats columns: ${repeated(listed)}`);
      await page.keyboard.press("Escape");
    }
  },

  "arrow keys walk rows of one name": async (page, show, chosen) => {
    await show(address("operators", chosen, "group=stack"));
    if ((await rows(page).count()) < 3) return;
    await page.focus(".grid");
    const seen = new Set();
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press("ArrowDown");
      assert.equal(await page.locator(".grid .row.chosen").count(), 1);
      seen.add(/sel=([^&]*)/.exec(await hash(page))[1]);
    }
    assert.equal(seen.size, 3);
  },

  "steps, launches and regions are in the rail": async (page) => {
    for (const label of ["Steps", "Launches", "Regions"]) {
      await page.click(`.rail a:has(span:text-is('${label}'))`);
      await settled(page);
      assert.match(await hash(page), new RegExp(`^#/${label.toLowerCase()}`));
    }
    const run = await runOf(page);
    await page.waitForFunction(
      () => document.querySelectorAll(".rail a .n").length >= 8,
      undefined,
      { timeout: 20_000 },
    );
    const steps = await page.locator(".rail a:has(span:text-is('Steps')) .n").innerText();
    assert.equal(steps, run.sources[0].rows.steps === 0 ? "–" : String(run.sources[0].rows.steps));
  },

  "a step leads to the timeline": async (page, show, chosen) => {
    await show(`#/steps${chosen}`);
    if ((await page.locator(".grid .picture").count()) === 0) return;
    const number = (await cells(page))[0][0];
    await page.click(".grid .picture >> nth=0");
    await settled(page);
    assert.match(await hash(page), new RegExp(`^#/timeline.*steps=${number}\\b`));
    await show(`#/overview${chosen}`);
    await page.locator(".step-chart svg").click({ position: { x: 60, y: 120 } });
    await page.click("a:has-text('Show in timeline') >> nth=0");
    await settled(page);
    assert.match(await hash(page), /^#\/timeline.*steps=/);
  },

  "single collectives add up to what ranks wait": async (page, show) => {
    const chosen = await severalRanks(page);
    if (!chosen) return;
    await show(address("communication", chosen, "group=collective"));
    const run = await runOf(page);
    const { count, wait } = await page.evaluate(async (run) => {
      const report = await (await fetch(`api/runs/${encodeURIComponent(run)}/analyses/comms`)).json();
      const table = (name) => report.parts.find((part) => part.kind === "table" && part.name === name);
      const sum = (table, name) =>
        (table?.rows ?? []).reduce((sum, row) => sum + (row[table.columns.findIndex((each) => each.name === name)] ?? 0), 0);
      return { count: sum(table("collectives"), "count"), wait: sum(table("rows"), "wait_ns") };
    }, run.run);
    const status = await page.locator(".statusline span >> nth=0").innerText();
    assert.match(status, new RegExp(`\\b${count} collectives`));
    if (count <= 1000) {
      await page.click(".toolbar button:has-text('Copy')");
      const [head, ...lines] = (await page.evaluate(() => navigator.clipboard.readText())).split("\n");
      const place = head.split("\t").indexOf("wait_ns");
      assert.equal(lines.reduce((sum, line) => sum + Number(line.split("\t")[place]), 0), wait);
    }
    await rows(page).first().dblclick();
    await settled(page);
    assert.match(await hash(page), /^#\/timeline.*rank=\d+.*sel=\d+/);
    await page.waitForSelector(".pane h2");
  },

  "a heat cell leads to its rank": async (page, show) => {
    const chosen = await severalRanks(page);
    if (!chosen) return;
    await show(`#/distributed${chosen}`);
    const box = await page.locator("canvas.heat").boundingBox();
    await page.locator("canvas.heat").click({ position: { x: box.width / 2, y: 12 } });
    await settled(page);
    assert.match(await hash(page), /^#\/timeline.*rank=\d+.*(sel|steps)=\d+/);
  },

  "modules are a tree, flat on request": async (page, show, chosen) => {
    await show(`#/modules${chosen}`);
    if ((await page.locator(".grid").count()) === 0) return;
    assert.equal(await page.locator(".seg button[aria-pressed=true] >> nth=0").innerText(), "tree");
    const before = await rows(page).count();
    const closed = page.locator(".grid button.twisty[aria-expanded=true]").first();
    if ((await closed.count()) > 0) {
      await closed.click();
      assert.ok((await rows(page).count()) < before, "closing a module hides nothing");
    }
    await page.click(".seg button:has-text('flat')");
    await settled(page);
    assert.equal(await page.locator(".grid button.twisty").count(), 0);
  },

  "examples run by a click, columns keep their names": async (page, show, chosen) => {
    await show(`#/sql${chosen}`);
    const examples = page.locator(".schema h2:has-text('Examples') ~ .schema-table:not([aria-expanded])");
    const count = await examples.count();
    assert.ok(count >= 5, `${count} examples`);
    for (let place = 0; place < count; place++) {
      await examples.nth(place).click();
      await settled(page);
      assert.equal(await page.locator("[role=alert]").count(), 0, `${await examples.nth(place).innerText()} fails`);
      await page.waitForSelector(".statusline");
    }
    assert.ok((await texts(page.locator("[role=columnheader]"))).some((text) => text.startsWith("total_ns")));
    const heights = await page.evaluate(() =>
      ["main", ".schema"].map((name) => document.querySelector(name).getBoundingClientRect().height),
    );
    assert.ok(heights[1] > 0.95 * heights[0], `the schema is ${heights[1]} of ${heights[0]} pixels high`);
    await page.click(".schema .schema-table:has-text('steps')");
    assert.ok((await page.locator(".schema-column").count()) > 5);
  },

  "compare adds up to the difference, and leads to both runs": async (page, show, chosen) => {
    await show(`#/compare${chosen}`);
    if ((await page.locator(".sides .badge").count()) === 0) return;
    assert.match(await page.locator(".sides .badge").innerText(), /^(faster|slower|no change|inconclusive|not tested)/);
    const changes = await texts(page.locator(".changes.wide").first().locator("td.change"));
    const numbers = changes.map((text) => Number(/[\d,.]+/.exec(text)[0].replaceAll(",", "")) * (text.startsWith("−") ? -1 : 1));
    const [sum, step] = [numbers.slice(0, -1).reduce((total, number) => total + number, 0), numbers.at(-1)];
    // Each row is rounded to two decimals.
    assert.ok(Math.abs(sum - step) <= 0.01 * numbers.length, `the rows add up to ${sum}, the step has ${step}`);
    const links = page.locator(".scrolled td a");
    const target = await links.first().getAttribute("title");
    await links.first().click();
    await settled(page);
    assert.match(await hash(page), /^#\/(operators|kernels).*sel=/);
    assert.ok((await hash(page)).includes(`run=${target.replace("Show in ", "")}`));
    assert.equal(await page.locator(".grid .row.chosen").count(), 1);
  },

  "compare aligns both timelines at a step, and zooms them together": async (page, show, chosen) => {
    await show(`#/compare${chosen}`);
    if ((await page.locator(".sides .badge").count()) === 0) return;
    const board = page.locator(".two-boards .board");
    await board.scrollIntoViewIfNeeded();
    await page.waitForSelector(".two-boards .board[data-drawn]");
    const length = async () => {
      const [from, to] = (await board.getAttribute("data-view")).split(",").map(Number);
      return to - from;
    };
    const before = await length();
    await board.focus();
    await page.keyboard.press("w");
    assert.ok(Math.abs((await length()) / before - 1 / 1.5) < 0.01, "w zooms by half");
    assert.equal((await texts(page.locator(".two-boards .track-head.group b"))).join(), "A,B");
    const next = page.locator("[aria-label='Next step']");
    if (await next.isEnabled()) {
      await next.click();
      await settled(page);
      assert.match(await hash(page), /align=2/);
      assert.doesNotMatch(await hash(page), /view=/);
    }
    // A piece of the critical path leads to its span in its run.
    await page.waitForSelector(".two-boards .board[data-drawn]");
    const [box, path] = await Promise.all([
      page.locator(".two-boards .board-canvas").boundingBox(),
      page.locator(".two-boards .track-head.track").first().boundingBox(),
    ]);
    await board.focus();
    for (let times = 0; times < 30 && !(await hash(page)).startsWith("#/timeline"); times++) {
      await page.mouse.click(box.x + box.width / 2, path.y + path.height / 2);
      await settled(page);
    }
    assert.match(await hash(page), /^#\/timeline.*sel=\d/);
    assert.equal(await page.locator(".pane").count(), 1);
  },
};

function repeated(texts) {
  return texts.filter((text, place) => texts.indexOf(text) !== place).slice(0, 3).join("; ");
}
