// The lanes of the timeline: their names, what is folded away, how they fill the screen, and several ranks at once.
import assert from "node:assert/strict";
import { addressOf, settled } from "./browser.mjs";

const hash = addressOf;
const group = (page, title) => page.locator(".track-head.group .fold", { hasText: title });
const heads = (page) => page.locator(".track-head.track .words span:first-child").allInnerTexts();
const rowsEnd = (page) =>
  page.evaluate(() => {
    const heads = [...document.querySelectorAll(".track-head")].map((head) => head.getBoundingClientRect().bottom);
    const board = document.querySelector(".board").getBoundingClientRect();
    return { rows: Math.max(...heads) - board.top, board: board.height };
  });

/** A run of several ranks, if there is one; one that has sums alone has no timeline. */
async function runOfRanks(page) {
  const { runs } = await page.evaluate(async () => (await fetch("api/session")).json());
  const isOfRanks = ({ sources }) => sources.some((source) => source.events > 0 && source.rank !== sources[0].rank);
  return runs.find((run) => run.state === "ready" && isOfRanks(run));
}

export const laneJourneys = {
  "threads are named by what ran on them": async (page, show, chosen) => {
    await show(`#/timeline${chosen}`);
    await page.waitForFunction(() => document.querySelector(".track-head.track .words")?.title !== undefined);
    const known = await page.evaluate(async () => {
      const run = document.querySelector(".topbar .sel select, .topbar .sel b");
      const name = run.value ?? run.textContent;
      const answer = await fetch(`api/runs/${encodeURIComponent(name)}/sql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ statement: "SELECT DISTINCT role FROM thread_roles WHERE rank = (SELECT min(rank) FROM tracks)" }),
      });
      return (await answer.json()).parts[0].rows.flat();
    });
    assert.ok(known.includes("main thread"), `roles are ${known.join(", ")}`);
    const words = (await page.locator(".track-head.track .words").allInnerTexts()).join("\n");
    for (const role of known) assert.ok(words.includes(role), `${role} is not among ${words}`);
    assert.match(words, /\d+/, "the number of the thread stays");
  },

  "bookkeeping is folded away, and the address keeps it open": async (page, show, chosen) => {
    await show(`#/timeline${chosen}`);
    if ((await group(page, "Bookkeeping").count()) === 0) return;
    const titles = await page.locator(".track-head.group b").allInnerTexts();
    assert.equal(titles.at(-1), "Bookkeeping");
    for (const own of ["Traces", "Spans", "process", "-1"]) assert.ok(!titles.includes(own), `${own} is a group`);
    const before = await heads(page);
    const counted = Number.parseInt(await group(page, "Bookkeeping").locator(".faint").innerText(), 10);
    await group(page, "Bookkeeping").click();
    assert.equal((await heads(page)).length, before.length + counted);
    assert.match(await hash(page), /fold=bookkeeping/);
    await page.reload();
    await settled(page);
    assert.equal(await group(page, "Bookkeeping").getAttribute("aria-expanded"), "true");
  },

  "lanes grow into the screen, and a pane does not move them": async (page, show, chosen) => {
    await page.setViewportSize({ width: 1440, height: 800 });
    await show(`#/timeline${chosen}`);
    await page.waitForSelector(".track-head");
    const low = await rowsEnd(page);
    await page.setViewportSize({ width: 1440, height: 1400 });
    await settled(page);
    const tall = await rowsEnd(page);
    assert.ok(tall.rows > low.rows, `rows end at ${tall.rows} as before`);
    assert.ok(low.rows > low.board || low.rows > 0.6 * low.board, `rows end at ${low.rows} of ${low.board}`);
    await page.setViewportSize({ width: 1440, height: 800 });
    await settled(page);
    assert.equal((await rowsEnd(page)).rows, low.rows);
    await page.focus(".as-table");
    await page.keyboard.press("Enter");
    await page.click("dialog tbody button >> nth=0");
    await page.waitForSelector(".pane h2");
    await settled(page);
    const scrolled = await page.evaluate(() => document.querySelector(".board").scrollTop);
    assert.equal((await rowsEnd(page)).rows + scrolled, low.rows);
  },

  "the critical path is the first lane, and a row of its page leads to its longest piece": async (page, show, chosen) => {
    await show(`#/critical${chosen}`);
    if ((await page.locator(".path-grid").count()) === 0) return;
    await page.locator(".path-grid td button", { hasText: "Show" }).first().click();
    await settled(page);
    assert.match(await hash(page), /^#\/timeline.*sel=\d+.*path=on/);
    await page.waitForSelector(".pane");
    assert.equal((await heads(page))[0], "Critical path");
    await page.keyboard.press("h");
    await settled(page);
    assert.doesNotMatch(await hash(page), /path=/);
    assert.ok(!(await heads(page)).includes("Critical path"));
  },

  "changes are replayed as they are chosen, and the address keeps them": async (page, show, chosen) => {
    await show(`#/critical${chosen}`);
    if ((await page.locator(".whatif input[type=checkbox]").count()) === 0) return;
    await page.locator(".whatif input[type=checkbox]").first().check();
    await page.locator(".whatif input[type=range]").fill("4");
    await settled(page);
    assert.match(await hash(page), /whatif=.*scale=kernel/);
    const before = await page.locator(".whatif-answer").innerText();
    assert.match(before, /Saves|not known/);
    await page.reload();
    await settled(page);
    assert.equal(await page.locator(".whatif-answer").innerText(), before);
    assert.equal(await page.locator(".whatif input[type=range]").inputValue(), "4");
  },

  "several ranks share an axis, and a collective is found on all of them": async (page, show) => {
    const run = await runOfRanks(page);
    if (!run) return;
    const count = new Set(run.sources.map((source) => source.rank)).size;
    await show(`#/distributed?run=${encodeURIComponent(run.run)}`);
    await page.click("text=Show these ranks in the timeline");
    await settled(page);
    assert.match(await hash(page), /^#\/timeline.*ranks=all/);
    const titles = await page.locator(".track-head.group b").allInnerTexts();
    assert.deepEqual(titles, [...titles].sort((a, b) => Number(a.slice(5)) - Number(b.slice(5))));
    assert.ok(titles.length === Math.min(count, titles.length) && titles.length > 1, titles.join(", "));
    await page.focus(".as-table");
    await page.keyboard.press("Enter");
    const collective = page.locator("dialog tbody tr", { hasText: "Communication" });
    assert.ok((await collective.count()) > 0, "no collective is on screen");
    await collective.first().locator("button").click();
    await settled(page);
    await page.waitForSelector(".pane h2");
    const matched = () => page.evaluate(() => Number(document.querySelector(".board").dataset.matched));
    assert.equal(await matched(), titles.length);
    const link = await hash(page);
    assert.match(link, /rank=\d+&ranks=all.*sel=\d+/);
    await page.reload();
    await settled(page);
    assert.equal(await matched(), titles.length);
    // The rank selector leads back to one rank.
    await page.locator(".topbar .sel", { hasText: /^\s*Rank/ }).locator("select").selectOption({ index: 1 });
    await settled(page);
    assert.doesNotMatch(await hash(page), /ranks=/);
    assert.ok((await page.locator(".track-head.busy, .track-head.curve, .track-head.track").count()) > 0);
  },

  "ranks that are not there are said so": async (page, show) => {
    const run = await runOfRanks(page);
    if (!run) return;
    await show(`#/timeline?run=${encodeURIComponent(run.run)}&ranks=9999`);
    await page.waitForSelector("text=/No other rank of this run/");
  },
};
