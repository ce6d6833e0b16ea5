// Walks through states that a page can be in: node e2e/states.mjs STEPSCOPE [--sized FOLDER] [--ranks STORE]
// [--pages FOLDER] [--pictures FOLDER] [--only TEXT]
// STEPSCOPE is the built command, $STEPSCOPE_CORPUS the folder with traces, --sized what sized_traces.mjs has
// written, and --ranks a store with a run of 1,024 ranks, which takes less time than as many traces.
// In every state the figures on the page are those of `stepscope … -f json`, a reload shows the same, nothing is left of
// the state before, axe-core finds nothing serious and nothing complains.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { accessibilityFindings, addressOf, openPage, settled, startBrowser } from "./browser.mjs";
import * as compare from "./figures.mjs";
import { startServer } from "./server.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: Object.fromEntries(["sized", "ranks", "pages", "pictures", "only"].map((name) => [name, { type: "string" }])),
});
const [stepscope] = positionals;
const corpus = process.env.STEPSCOPE_CORPUS;
if (!stepscope || !corpus) {
  console.error("error: node e2e/states.mjs STEPSCOPE, with $STEPSCOPE_CORPUS");
  process.exit(2);
}
if (values.pictures) mkdirSync(values.pictures, { recursive: true });

const folder = mkdtempSync(join(tmpdir(), "states-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
process.env.STEPSCOPE_CACHE ??= join(folder, "cache");
const began = performance.now();
const sized = values.sized ?? folder;
if (!values.sized) execFileSync(process.execPath, [new URL("sized_traces.mjs", import.meta.url).pathname, folder]);
const recorded = join(corpus, "traces", "kineto", "resnet50_num_workers_0");
const [earlier, later] = readdirSync(recorded).sort();
const SNAPSHOT = "made_two_devices.pickle";
// The later of two windows first: the one that arrives takes its number.
const PATHS = {
  resnet: join(folder, "resnet"),
  "megatron-tp8": join(corpus, "traces", "astra-sim", "megatron-tp8"),
  [SNAPSHOT]: join(corpus, "traces", "memory_snapshots", SNAPSHOT),
  ...Object.fromEntries(["steps-1", "steps-96", "steps-10000", "ranks-1024"].map((run) => [run, join(sized, run)])),
  ...(values.ranks && { "ranks-1024": values.ranks }),
};
const RUNS = Object.keys(PATHS);
const pathOf = (run) => PATHS[run];
mkdirSync(pathOf("resnet"));
copyFileSync(join(recorded, later), join(pathOf("resnet"), later));
// The largest run is read while states of the others are looked at; new traces are noticed after it.
const isReady = (runs, name) => runs.some((run) => run.run === name && run.state === "ready");
const server = await startServer(stepscope, Object.values(PATHS), (runs) => isReady(runs, "steps-10000"));
const command = compare.createCommand(stepscope);
console.log(`runs read after ${seconds()} s`);

/** Asks the command what the page is asked; the server counts from the first event, as the command does. */
const asker = (run, options = {}) => (analysis, more = {}) => command(pathOf(run), analysis, { ...options, ...more });

// Runs of a store and of traces are in the order of the server.
const open = (await server.askJson("api/session")).runs.map((run) => run.run);
// The page names six of them.
const RUN_GONE = `Run gone is not open here; open runs are ${open.slice(0, 6).join(", ")} and ${open.length - 6} more.`;

const TABLES = { operators: "ops", communication: "comms" };
/** A state that is one address: figures of its page are compared. */
function shows(hash, run, options = {}, more = {}) {
  const name = more.page ?? /^#\/(\w+)/.exec(hash)[1];
  return {
    ...more,
    hash,
    check: async (page, found) => {
      const ask = asker(run, options);
      if (name === "overview") await compare.compareOverview(page, ask, found);
      else if (name === "distributed") await compare.compareDistributed(page, ask, found);
      else if (name === "memory") await compare.compareMemory(page, ask, found);
      else if (name === "critical") await compare.compareCritical(page, ask, found);
      else {
        const report = await ask(TABLES[name] ?? name, { limit: 5000 });
        await compare.compareTable(page, report, found, more.order, more.divide);
      }
      await more.also?.(page, found);
    },
  };
}

/** A state in which the address names what is not there: said so by name, no figures, and a way out. */
function unknown(hash, sentence, remedy) {
  return {
    hash,
    check: async (page, found) => {
      found.equal(await page.locator(".state.unknown h2").allInnerTexts(), [].concat(sentence), "what is not there");
      for (const selector of [".stat", ".grid", ".legend", ".finding", ".board", ".pane", "h1"])
        assert.equal(await page.locator(`main ${selector}`).count(), 0, `the page still shows ${selector}`);
      const href = await page.locator(".state.unknown a").first().getAttribute("href");
      found.equal(href, remedy, "the way out");
    },
  };
}

const by = (name, sign = -1) => (rows) => rows.toSorted((a, b) => sign * (a[name] - b[name]));
const chooseIn = (label) => (page) => page.locator(`.topbar .sel:has(.k:text-is("${label}")) select`);
const runSelector = chooseIn("Run");
const address = addressOf;
const RANGE = { from: 100_000_000, to: 300_000_000 };

/** Nanoseconds from the first event, as the command counts, for times from the first step, as the page does. */
async function fromFirstEvent(run, range) {
  const { zero_ns: zero } = await server.askJson(`api/runs/${run}/timeline?rank=0&window=0`);
  return { from: range.from + zero, to: range.to + zero };
}
const { end_ns: oneStepEnd } = await server.askJson("api/runs/steps-1/timeline?rank=0&window=0");
const inRange = await fromFirstEvent("resnet", RANGE);
const rangeHash = `from=${RANGE.from}&to=${RANGE.to}`;
const [kernelSpan] = (await command(pathOf("resnet"), "sql", {
  statement: "SELECT span_id, name, dur_ns FROM spans WHERE kind = 'kernel' ORDER BY dur_ns DESC, span_id LIMIT 1",
})).rows;
const STATEMENT = "SELECT kind, count(*) AS events, sum(dur_ns) AS total_ns FROM spans GROUP BY kind ORDER BY total_ns DESC";

const STATES = {
  // What is not there.
  "unknown rank": unknown(
    "#/overview?run=megatron-tp8&rank=77",
    "Rank 77 is not in this run; it has ranks 0 to 7.",
    "#/overview?run=megatron-tp8",
  ),
  "unknown rank on the timeline": unknown(
    "#/timeline?run=megatron-tp8&rank=8&view=0:1000",
    "Rank 8 is not in this run; it has ranks 0 to 7.",
    "#/timeline?run=megatron-tp8&view=0:1000",
  ),
  "a rank that is no number": unknown(
    "#/distributed?run=steps-1&rank=one",
    "Rank one is not in this run; it has rank 0 only.",
    "#/distributed?run=steps-1",
  ),
  "unknown run": unknown(
    "#/kernels?run=gone&rank=3&steps=7",
    RUN_GONE,
    "#/kernels",
  ),
  "unknown side of a comparison": unknown(
    "#/compare?a=resnet&b=gone",
    RUN_GONE,
    "#/compare?a=resnet",
  ),
  "unknown window": unknown(
    "#/operators?run=resnet&window=5",
    "Window 5 is not in rank 0; it has window 0 only, counted from 0.",
    "#/operators?run=resnet",
  ),
  "unknown step": unknown(
    "#/overview?run=steps-96&steps=96",
    "Step 96 is not in this trace; it has steps 0 to 95.",
    "#/overview?run=steps-96",
  ),
  "unknown step and range outside of the trace": unknown(
    "#/kernels?run=steps-1&steps=16-18&from=205800000&to=535600000",
    [
      "Steps 16 to 18 are not in this trace; it has step 0.",
      `The range 205.8 ms to 535.6 ms is outside this trace, which covers 0 ns to ${oneStepEnd / 1000} µs.`,
    ],
    "#/kernels?run=steps-1&from=205800000&to=535600000",
  ),
  "a range without an end": unknown(
    "#/memory?run=resnet&from=100",
    "100 to nothing is not a time range in nanoseconds.",
    "#/memory?run=resnet",
  ),
  "the way out of an unknown rank": shows("#/overview?run=megatron-tp8&rank=77", "megatron-tp8", { rank: 0 }, {
    act: (page) => page.click(".state.unknown a"),
  }),

  // From one run, rank or range to the next.
  "a range chosen": shows(`#/kernels?run=resnet&${rangeHash}`, "resnet", inRange),
  "a range, then another run": shows(`#/kernels?run=resnet&${rangeHash}&sel=nothing`, "megatron-tp8", { rank: 0 }, {
    act: (page) => runSelector(page).selectOption("megatron-tp8"),
    also: async (page, found) => found.equal(await address(page), "#/kernels?run=megatron-tp8", "the address"),
  }),
  "a range, then another page": shows(`#/kernels?run=resnet&${rangeHash}`, "resnet", inRange, {
    act: (page) => page.click(".rail a[href^='#/operators']"),
    page: "operators",
  }),
  "steps, then another run": shows("#/overview?run=resnet&steps=17", "steps-96", {}, {
    act: (page) => runSelector(page).selectOption("steps-96"),
  }),
  "back and forward": shows("#/kernels?run=megatron-tp8&rank=3", "megatron-tp8", { rank: 3 }, {
    act: async (page) => {
      await runSelector(page).selectOption("resnet");
      await settled(page);
      await page.click("[role=columnheader] button:has-text('Kernel')");
      await page.goBack();
      await page.goBack();
      await page.goForward();
      await settled(page);
      assert.equal(await address(page), "#/kernels?run=resnet");
      await page.goBack();
    },
  }),
  "an answer on its way": shows("#/overview?run=resnet", "resnet", { step: 17 }, { act: heldBack }),
  "an answer that failed": {
    hash: "#/kernels?run=megatron-tp8",
    isStateless: true,
    complaints: /status of 500/,
    act: async (page) => {
      await page.route(/analyses\/kernels/, (route) =>
        route.fulfill({ status: 500, json: { error: { message: "out of luck", location: null, hint: null } } }),
      );
      await page.locator("[aria-label='Group by'] button >> nth=1").click();
    },
    check: async (page, found) => {
      found.equal(await page.locator("main [role=alert] h2").innerText(), "Out of luck", "the error");
      assert.equal(await page.locator("main .grid").count(), 0, "rows of the former question are still there");
      await page.unroute(/analyses\/kernels/);
    },
  },

  // Sizes.
  "1 step": shows("#/overview?run=steps-1", "steps-1"),
  "96 steps": shows("#/overview?run=steps-96", "steps-96", {}, { width: 1280 }),
  "10,000 steps": shows("#/overview?run=steps-10000", "steps-10000"),
  "10,000 steps as a table, 1 chosen": shows("#/steps?run=steps-10000&steps=9999", "steps-10000", { step: 9999 }),
  "8 ranks": shows("#/distributed?run=megatron-tp8", "megatron-tp8", {}, { width: 1920 }),
  "1100 pixels": shows("#/overview?run=resnet", "resnet", {}, { width: 1100 }),
  "2560 pixels": shows("#/overview?run=megatron-tp8&rank=7", "megatron-tp8", { rank: 7 }, { width: 2560 }),
  "1920 pixels, light": shows("#/memory?run=resnet", "resnet", {}, { width: 1920, theme: "light" }),

  // Memory snapshots.
  "a memory snapshot": shows(`#/memory?run=${SNAPSHOT}`, SNAPSHOT, {}, { width: 1280, theme: "light" }),
  "another device of a snapshot, magnified": shows(`#/memory?run=${SNAPSHOT}`, SNAPSHOT, {}, {
    act: async (page) => {
      await page.locator("[aria-label=Device] button >> nth=1").click();
      await page.locator("[aria-label=Scale] button >> nth=1").click();
    },
    also: async (page, found) => {
      await page.locator(".segment-chart").press("ArrowRight");
      await page.locator(".block-details h3").waitFor();
      found.equal(await address(page), `#/memory?run=${SNAPSHOT}&device=1&sel=block-0.0&view=4`, "the address");
      await page.keyboard.press("Escape");
      found.equal(await address(page), `#/memory?run=${SNAPSHOT}&device=1&view=4`, "the address afterward");
    },
  }),

  // Links.
  "a table sorted, filtered, with a row": shows(
    "#/operators?run=resnet&sort=-host_self_ns&q=conv&sel=aten::conv2d&columns=flops,-device_self_ratio",
    "resnet",
    {},
    {
      order: (rows) => by("host_self_ns")(rows.filter((row) => row.name.toLowerCase().includes("conv"))),
      also: async (page, found) => {
        found.equal(await page.locator(".row.chosen .ends").getAttribute("title"), "aten::conv2d", "the row");
        const titles = await page.locator("[role=columnheader] button").evaluateAll((all) => all.map((each) => each.title));
        found.equal(titles.some((title) => title.endsWith("flops")), true, "a column put in");
        found.equal(titles.some((title) => title.endsWith("device_self_ratio")), false, "a column left out");
      },
    },
  ),
  "a table grouped": shows("#/kernels?run=resnet&group=stream", "resnet", { "group-by": "stream" }),
  "a table per step": shows("#/kernels?run=resnet&values=step", "resnet", {}, {
    divide: (value, name) => (/^(count|total_ns)$/.test(name) ? value / 6 : value),
  }),
  "the critical path": shows("#/critical?run=resnet", "resnet"),
  "two changes replayed": {
    hash: `#/critical?run=resnet&whatif=${encodeURIComponent("no_sync&scale=kernel:*=1/2")}`,
    check: (page, found) =>
      compare.compareWhatif(page, asker("resnet"), { "no-sync": true, scale: "kernel:*=1/2" }, found),
  },
  "call stacks by time on the host": shows("#/operators?run=resnet&view=stacks&weight=host", "resnet", {}, {
    also: async (page, found) =>
      found.equal(await page.locator("[aria-label=Time] [aria-pressed=true]").innerText(), "host", "the time"),
  }),
  "the timeline with colors, arrows, a span and a mark": {
    hash: `#/timeline?run=resnet&sel=${kernelSpan.span_id}&marks=0:1000000&color=name&arrows=off`,
    check: async (page, found) => {
      found.equal(await page.locator(".pane h2 span[title]").getAttribute("title"), kernelSpan.name, "the span");
      found.same(await page.locator(".pane dd").first().innerText(), kernelSpan.dur_ns, "its duration");
      const pressed = await page.locator(".toolbar [aria-pressed=true]").allInnerTexts();
      found.equal(pressed, ["name", "off"], "colors and arrows");
    },
  },
  "a range of the timeline": {
    hash: `#/timeline?run=resnet&${rangeHash}`,
    check: async (page, found) =>
      compare.compareRange(page, asker("resnet"), RANGE, found),
  },
  "two runs compared": {
    hash: "#/compare?a=steps-96&b=resnet",
    check: async (page, found) => {
      const difference = await command(pathOf("steps-96"), "diff", {}, pathOf("resnet"));
      await compare.compareSides(page, difference, found);
    },
  },
  "a statement": {
    hash: `#/sql?run=resnet&q=${encodeURIComponent(STATEMENT)}`,
    check: async (page, found) => {
      const report = await command(pathOf("resnet"), "sql", { statement: STATEMENT });
      await compare.compareTable(page, report, found);
    },
  },

  // Late, as it takes a while to read them.
  "unknown rank among 1,024": unknown(
    "#/communication?run=ranks-1024&rank=1024",
    "Rank 1024 is not in this run; it has ranks 0 to 1023.",
    "#/communication?run=ranks-1024",
  ),
  "steps, then another rank of 1,024": shows("#/overview?run=ranks-1024&steps=2", "ranks-1024", { rank: 1, step: 2 }, {
    act: (page) => page.keyboard.press("}"),
    also: async (page, found) => found.equal(await address(page), "#/overview?run=ranks-1024&rank=1&steps=2", "the address"),
  }),
  "1 rank of 1,024": shows("#/overview?run=ranks-1024&rank=1023", "ranks-1024", { rank: 1023 }),
  "1,024 ranks": shows("#/distributed?run=ranks-1024", "ranks-1024"),
  "1,024 ranks as a table": shows("#/communication?run=ranks-1024", "ranks-1024"),

  // Last, as it changes a run: an earlier window takes the number of the one that is looked at.
  "a window that arrives while the page is open": shows("#/overview?run=resnet", "resnet", { window: 1 }, {
    act: windowArrives,
    also: async (page, found) => found.equal(await address(page), "#/overview?run=resnet&window=1", "the address"),
  }),
  "the window that arrived": shows("#/overview?run=resnet&window=1", "resnet", { window: 0 }, {
    act: (page) => chooseIn("Window")(page).selectOption("0"),
    also: async (page, found) => {
      const kernels = await command(pathOf("resnet"), "kernels", { window: 0, limit: 5000 });
      await compare.compareRail(page, "kernels", kernels.rows.length, found);
    },
  }),
};

/** Holds answers back after a click on a step: nothing of the former answer may be seen meanwhile. */
async function heldBack(page) {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const isHeld = /analyses\/(summary|diagnose)\?.*step=17/;
  await page.route(isHeld, async (route) => {
    await held;
    await route.fallback();
  });
  await chooseIn("Steps")(page).selectOption("17");
  await page.waitForTimeout(100);
  const seen = await page.locator("h1, .stat .v, .legend td, .finding b").evaluateAll((all) =>
    all.filter((each) => each.checkVisibility({ visibilityProperty: true })).map((each) => each.innerText).filter(Boolean),
  );
  release();
  await settled(page);
  await page.unroute(isHeld);
  assert.deepEqual(seen, [], "figures of all steps are seen while step 17 is asked for");
}

/** Puts the other window into the folder, and watches that what is on screen is never of two states. */
async function windowArrives(page) {
  const [before, after] = await Promise.all([
    command(pathOf("resnet"), "steps"),
    command(join(recorded, earlier), "steps"),
  ]);
  assert.notEqual(before.headline, after.headline, "the two windows cannot be told apart");
  copyFileSync(join(recorded, earlier), join(pathOf("resnet"), earlier));
  const end = performance.now() + 60_000;
  while (!(await page.locator(".toast").count())) {
    assert.ok(performance.now() < end, "nobody says that there is a new window");
    const mean = await page.evaluate(() => [
      document.querySelector("h1")?.innerText,
      document.querySelector(".legend tr.whole td:nth-child(2)")?.innerText,
    ]);
    if (mean[0] && mean[1]) assert.ok(mean[0].includes(mean[1]), `“${mean[0]}” stands beside ${mean[1]}`);
    await page.waitForTimeout(50);
  }
  assert.match(await page.locator(".toast").innerText(), /resnet has a new window/);
  command.forget();
  await page.locator(".toast").waitFor({ state: "detached" });
}

const browser = await startBrowser();
const chosen = Object.entries(STATES).filter(([name]) => !values.only || new RegExp(values.only).test(name));
let figures = 0;
let opened;
let well = 0;
for (const [name, state] of chosen) {
  const start = performance.now();
  const { width = 1440, theme = "dark" } = state;
  // One page walks through most states, so that each follows another one.
  if (opened?.width !== width || opened?.theme !== theme) {
    await opened?.context.close();
    const height = Math.round(width * 0.625);
    opened = { ...(await openPage(browser, server.url, { width, height, theme, pages: values.pages })), width, theme };
    await settled(opened.page);
  }
  const { page, complaints, show } = opened;
  const found = new compare.Comparison();
  const faults = [];
  const attempt = async (work) => {
    try {
      await work();
    } catch (error) {
      faults.push(error.message.split("\n").filter(Boolean).slice(0, 6).join(" "));
    }
  };
  await attempt(async () => {
    while (/1,024|window that arrive/.test(name) && !isReady((await server.askJson("api/session")).runs, "ranks-1024"))
      await page.waitForTimeout(500);
    await show(state.hash);
    await state.act?.(page);
    await settled(page);
    await state.check(page, found);
    await nothingStale(page);
    faults.push(...(await accessibilityFindings(page)));
    const wider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.ok(!wider, "the page is wider than the screen");
  });
  if (values.pictures)
    await page.screenshot({ path: join(values.pictures, `${name.replaceAll(/\W+/g, "-")}.png`) });
  if (!state.isStateless && faults.length === 0) {
    await attempt(async () => {
      await page.waitForTimeout(500);
      const before = await seen(page);
      await page.reload();
      await settled(page);
      // Facts of tracks come after the lanes, without a question that anything waits for.
      for (let tries = 0; tries < 20 && (await seen(page)) !== before; tries++) await page.waitForTimeout(250);
      assert.equal(difference(before, await seen(page)), "", "a reload shows something else");
      // And what was compared before the reload holds after it.
      await state.check(page, found);
    });
  }
  if (found.compared === 0) faults.push("nothing was compared");
  faults.push(...complaints.splice(0).filter((complaint) => !state.complaints?.test(complaint)));
  figures += found.compared;
  if (faults.length === 0) well += 1;
  const took = `${((performance.now() - start) / 1000).toFixed(1)} s`;
  console.log(`${name}: ${faults.length === 0 ? "ok" : "failed"}, ${found.compared} figures, ${took}`);
  for (const fault of faults) console.error(`  ${fault}`);
}
await browser.close();
await server.stop();
console.log(`${well} of ${chosen.length} states, ${figures} figures compared, ${seconds()} s`);
process.exit(well === chosen.length ? 0 : 1);

/**
 * What a person reads on the page: its text without the counts of other pages, which come when there is time, and
 * without the time that a statement took.
 */
async function seen(page) {
  const text = await page.evaluate(() => document.querySelector(".topbar").innerText + document.querySelector("main").innerText);
  return text.replaceAll(/^(all|[\d,]+ (operators|kernels|ms))$/gm, "");
}

/** Lines that only one of two texts has, the first few of them. */
function difference(before, after) {
  const [old, now] = [before, after].map((text) => text.split("\n"));
  const gone = old.filter((line) => !now.includes(line)).map((line) => `-${line}`);
  const come = now.filter((line) => !old.includes(line)).map((line) => `+${line}`);
  const lines = [...gone, ...come].slice(0, 8);
  return lines.length > 0 || before === after ? lines.join(" | ") : "the same lines in another order";
}

/** Nothing on the page is from another question: no former answer, no tooltip, no run that is not the one of the address. */
async function nothingStale(page) {
  assert.equal(await page.locator(".answer.former").count(), 0, "a former answer holds its place for ever");
  assert.equal(await page.locator(".tip").count(), 0, "a tooltip is left");
  const asked = new URLSearchParams((await address(page)).split("?")[1]).get("run");
  const shown = runSelector(page);
  if (asked && RUNS.includes(asked) && (await shown.count()))
    assert.equal(await shown.inputValue(), asked, "the run at the top is another one");
}

function seconds() {
  return ((performance.now() - began) / 1000).toFixed(0);
}
