// Ways to an event: the search of the timeline, the search in the top bar, findings, and call stacks.
import assert from "node:assert/strict";
import { accessibilityFindings, addressOf, settled } from "./browser.mjs";

const hash = addressOf;
const selected = async (page) => Number(/sel=(\d+)/.exec(await hash(page))?.[1]);
const lanes = (page) => page.locator(".board-canvas canvas").last();
const words = (page) => page.locator(".walk [role=status]").innerText();

/** Waits until the count says the place of a match, and returns place and count. */
async function place(page) {
  await page.waitForFunction(() => / of /.test(document.querySelector(".walk [role=status]")?.textContent ?? ""));
  const [, at, all] = /^([\d,]+) of ([\d,]+) match/.exec(await words(page));
  return [at, all].map((text) => Number(text.replaceAll(",", "")));
}

/** Presses something and waits until another match is selected. */
async function step(page, press) {
  const before = await words(page);
  await press();
  await page.waitForFunction(
    (before) => document.querySelector(".walk [role=status]")?.textContent !== before,
    before,
  );
  return place(page);
}

/** The answer to a statement about the run that is shown. */
async function ask(page, chosen, statement) {
  return page.evaluate(
    async ([chosen, statement]) => {
      const { runs } = await (await fetch("api/session")).json();
      const run = new URLSearchParams(chosen.slice(1)).get("run") ?? runs.find((run) => run.state === "ready").run;
      const answer = await fetch(`api/runs/${encodeURIComponent(run)}/sql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ statement, limit: 1 }),
      });
      return (await answer.json()).parts.find((part) => part.kind === "table").rows[0];
    },
    [chosen, statement],
  );
}

export const searches = {
  "a search walks through its matches from the view": async (page, show, chosen) => {
    await show(`#/timeline${chosen}`);
    await page.keyboard.press("0");
    await page.keyboard.press("Control+f");
    await page.keyboard.type("conv");
    await page.waitForSelector("text=/^[\\d,]+ match/");
    const count = Number(/^[\d,]+/.exec(await words(page))[0].replaceAll(",", ""));
    await page.keyboard.press("Enter");
    assert.deepEqual(await place(page), [1, count]);
    const first = await selected(page);
    assert.deepEqual(await step(page, () => page.keyboard.press("Enter")), [2, count]);
    assert.notEqual(await selected(page), first);
    assert.deepEqual(await step(page, () => page.keyboard.press("Shift+Enter")), [1, count]);
    assert.equal(await selected(page), first);
    // Before the first comes the last, by button too.
    assert.deepEqual(await step(page, () => page.click("[aria-label='Previous match']")), [count, count]);
    assert.deepEqual(await step(page, () => page.click("[aria-label='Next match']")), [1, count]);
    // Somewhere else, the next match is the first one right of the left edge.
    await page.keyboard.press("Escape");
    await lanes(page).hover({ position: { x: 600, y: 200 } });
    for (let i = 0; i < 30; i++) await page.keyboard.press("d");
    await settled(page);
    const from = Number(/view=(-?\d+),/.exec(await hash(page))[1]);
    await page.keyboard.press("Enter");
    await settled(page);
    const [at] = await place(page);
    assert.ok(at > 2, `match ${at} lies left of ${from}`);
    await page.waitForSelector(".pane h2");
  },

  "the search in the top bar lists what it finds, and leads there": async (page, show, chosen) => {
    await show(`#/overview${chosen}`);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("conv");
    await page.waitForSelector("[role=group][aria-label^=Operators] [role=option]");
    const field = page.locator(".topsearch input");
    assert.equal(await field.getAttribute("aria-expanded"), "true");
    const serious = await accessibilityFindings(page);
    assert.deepEqual(serious, []);
    const wanted = page.locator("[role=group][aria-label^=Operators] [role=option]").first();
    const name = await wanted.getAttribute("title");
    for (let i = 0; i < 40 && (await wanted.getAttribute("aria-selected")) !== "true"; i++)
      await page.keyboard.press("ArrowDown");
    assert.equal(await field.getAttribute("aria-activedescendant"), await wanted.getAttribute("id"));
    await page.keyboard.press("Enter");
    await settled(page);
    assert.match(await hash(page), /^#\/operators/);
    assert.ok((await hash(page)).includes(`sel=${name}`), `${await hash(page)} leads to ${name}`);
    await page.waitForSelector(".grid .row.chosen");
    // By mouse, to a page.
    await field.click();
    await field.fill("memory");
    await page.click("[role=group][aria-label^=Pages] [role=option]");
    assert.match(await hash(page), /^#\/memory/);
    // The text itself leads to the timeline, and Escape closes the list first.
    await field.fill("conv");
    await page.waitForSelector("[role=option]");
    await field.press("Escape");
    await page.waitForSelector("[role=option]", { state: "hidden" });
    await field.press("ArrowDown");
    await field.press("Enter");
    await settled(page);
    assert.match(await hash(page), /^#\/timeline\?.*q=conv/);
  },

  "a call stack has its innermost frame first, without folders": async (page, show, chosen) => {
    const row = await ask(page, chosen, "SELECT span_id, call_stack FROM spans WHERE call_stack LIKE '%;%' LIMIT 1");
    if (!row) return;
    const [id, stack] = [Number(row[0]), String(row[1]).split(";")];
    await show(`#/timeline${chosen}${chosen ? "&" : "?"}sel=${id}`);
    await page.waitForSelector(".frames li");
    const frames = page.locator(".frames li");
    assert.equal(await frames.first().getAttribute("title"), stack[0]);
    assert.equal(await frames.last().getAttribute("title"), stack.at(-1));
    for (const text of await frames.allInnerTexts()) assert.doesNotMatch(text, /[/\\].*\(\d+\): /);
    await page.click(".frames button");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), stack.join("\n"));
  },

  "no tooltip stays behind when the picture moves": async (page, show, chosen) => {
    await show(`#/timeline${chosen}`);
    const box = await lanes(page).boundingBox();
    for (let y = 20; y < box.height && (await page.locator(".tip").count()) === 0; y += 9)
      await page.mouse.move(box.x + box.width / 2, box.y + y);
    await page.waitForSelector(".tip");
    await page.keyboard.press("d");
    await page.waitForSelector(".tip", { state: "detached" });
  },

  "a finding leads to its worst instance, and to what happened in it": async (page, show, chosen) => {
    await show(`#/overview${chosen}`);
    await page.waitForSelector(".finding");
    await page.click(".finding >> nth=0 >> text=Show in timeline");
    await page.waitForSelector(".pane .sort");
    await settled(page);
    const [, from, to] = /from=(-?\d+)&to=(-?\d+)/.exec(await hash(page)).map(Number);
    const [, left, right] = /view=(-?\d+),(-?\d+)/.exec(await hash(page)).map(Number);
    assert.ok(left < from && to < right, `${left} to ${right} has no room around ${from} to ${to}`);
    assert.ok(right - left < 3 * (to - from), `${left} to ${right} is far more than ${from} to ${to}`);
    // The step covers what happens in it.
    const around = await page.locator(".pane .sort:has-text('Enclosing') ~ tr").allInnerTexts();
    assert.ok(around.length > 0, "nothing is said of what happened in it");
  },
};
