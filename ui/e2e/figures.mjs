// Whether figures on a page are those of the command: both are read independently, and a figure of the page must be
// the exact value of `stepscope … -f json`, rounded to the digits it shows.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const LARGEST_ANSWER = 1 << 28;
/** Rows of a table that are compared: what is on a screen, not what is scrolled to. */
const ROWS = 30;

const UNITS = {
  "": 1, ns: 1, µs: 1e3, ms: 1e6, s: 1e9,
  B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4,
  kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12,
  "%": 0.01, "GB/s": 1,
  FLOP: 1, MFLOP: 1e6, GFLOP: 1e9, TFLOP: 1e12, PFLOP: 1e15,
  "FLOP/s": 1, "MFLOP/s": 1e6, "GFLOP/s": 1e9, "TFLOP/s": 1e12, "PFLOP/s": 1e15,
};
const CLASSES = ["kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu_exec", "other"];

/** A command that answers in JSON; each question is asked once. */
export function createCommand(stepscope) {
  const known = new Map();
  const command = (path, analysis, options = {}, ...others) => {
    const given = Object.entries(options).filter(([, value]) => value !== undefined);
    // A negative time would be taken for an option.
    const word = ([name, value]) => (value === true ? `--${name}` : `--${name}=${value}`);
    const words = [analysis, path, ...others, "-q", "-f", "json", ...given.map(word)];
    if (options.statement !== undefined) words.splice(2, words.length, options.statement, "-q", "-f", "json");
    const key = words.join("\n");
    if (!known.has(key)) known.set(key, ask(words));
    return known.get(key);
  };
  /** For when traces have changed. */
  command.forget = () => known.clear();
  return command;
  async function ask(words) {
    const { stdout } = await run(stepscope, words, { maxBuffer: LARGEST_ANSWER });
    return JSON.parse(stdout);
  }
}

/** Counts what was compared, so that a check that finds nothing to compare does not pass for one. */
export class Comparison {
  compared = 0;

  /** A text of the page shows a value; `unit` is the one that a header names. */
  same(text, exact, what, unit = "") {
    this.compared += 1;
    const words = text.replaceAll("△", "").replace(/^≥/, "").trim();
    // The reason is for those who cannot see it on hover.
    if (exact === null || exact === undefined) return assert.match(words, /^–/, `${what}: the command has no value`);
    const parts = /^(< )?(−)?([\d,]+(?:\.(\d+))?)\s*(\S*)$/.exec(words);
    assert.ok(parts, `${what}: “${text}” is no number, the command has ${exact}`);
    const [, below, minus, digits, decimals = "", symbol] = parts;
    const scale = UNITS[symbol || unit];
    assert.ok(scale, `${what}: “${symbol || unit}” is no unit`);
    const value = Number(digits.replaceAll(",", "")) * (minus ? -1 : 1);
    const half = 0.500001 * 10 ** -decimals.length;
    const isSame = below ? exact > 0 && exact / scale < value : Math.abs(value - exact / scale) <= half;
    assert.ok(isSame, `${what}: the page shows ${text} ${unit}, the command has ${exact}`);
  }

  equal(shown, exact, what) {
    this.compared += 1;
    assert.deepEqual(shown, exact, what);
  }
}

const texts = (page, selector) => page.locator(selector).allInnerTexts();

/** The strip of figures by label: digits and unit. */
async function stats(page) {
  const all = await page.locator(".strip .stat").evaluateAll((stats) =>
    stats.map((stat) => [stat.querySelector(".l").textContent, stat.querySelector(".v").innerText.replaceAll("\n", " ")]),
  );
  return new Map(all);
}

/** The overview: sentence, figures, classes, first operators and kernels, findings, counts in the rail. */
export async function compareOverview(page, ask, found) {
  const [summary, steps, diagnose] = await Promise.all([ask("summary"), ask("steps"), ask("diagnose")]);
  const times = summary.step_time?.[0] ?? {};
  const device = summary.devices?.[0];
  const shown = await stats(page);
  if (steps.headline) found.equal(await page.locator("h1").innerText(), steps.headline, "the sentence");
  // Figures of devices are about whole recordings; of some steps there are times alone.
  const ofTimes = ["mean", "min", "p90", "p99", "max"].map((name) => [`Step time, ${name}`, times[`${name}_ns`]]);
  const ofDevice = device && [
    ["GPU utilization", device.gpu_utilization_ratio],
    ["Est. SM efficiency", device.est_sm_efficiency_ratio],
    ["Est. occupancy", device.est_achieved_occupancy_ratio],
    ["Tensor cores", device.tensor_core_lower_bound_ratio],
    device.memory_peak_bytes === null
      ? ["Memory growth, peak", device.memory_growth_bytes]
      : ["Memory, peak", device.memory_peak_bytes],
  ];
  for (const [label, exact] of [["Step time, p50", times.p50_ns], ...(ofDevice ?? ofTimes)]) {
    const text = shown.get(label) ?? shown.get(label.replace("utilization", "utilization"));
    assert.ok(text, `there is no figure “${label}”`);
    found.same(text, exact, label);
  }
  const unit = (await page.locator(".legend th >> nth=1").innerText()).split(" ")[0];
  const means = await texts(page, ".legend tbody td:nth-child(2)");
  const shares = await texts(page, ".legend tbody td:nth-child(4)");
  CLASSES.forEach((name, place) => {
    const row = summary.breakdown.find((row) => row.class === name);
    found.same(means[place], row.mean_ns, `${name} per step`, unit);
    found.same(shares[place], row.share_ratio, `share of ${name}`);
  });
  found.same(means.at(-1), times.mean_ns, "all classes", unit);
  const lists = await page.locator(".top-rows").evaluateAll((lists) =>
    lists.map((list) =>
      [...list.querySelectorAll("a")].map((link) => [
        link.querySelector(".ends").title,
        link.nextElementSibling.innerText,
      ]),
    ),
  );
  const complete = times.steps ?? 1;
  // A store of sums may hold neither.
  const listed = [["operators", "device_self_ns"], ["kernels", "total_ns"]].filter(([name]) => summary[name]?.length > 0);
  found.equal(lists.length, listed.length, "the lists");
  listed.forEach(([name, value], at) =>
    lists[at].forEach(([shownName, text], place) => {
      const row = summary[name][place];
      found.equal(shownName, row.name, `${name}, row ${place}`);
      found.same(text, Math.round((row[value] ?? row.host_self_ns) / complete), `${name}: ${shownName}`);
    }),
  );
  found.equal(await texts(page, ".finding b"), diagnose.rows.map((row) => row.title), "findings");
  const stakes = await texts(page, ".finding .cost");
  diagnose.rows.forEach((row, place) => {
    const cost = row.saving_ns ?? row.at_stake_ns;
    if (cost !== null) found.same(stakes[place], cost, row.title);
  });
}

/** A page that is one table: every number of every row on screen. `order` arranges the rows of the command as asked. */
export async function compareTable(page, report, found, order = (rows) => rows, divide = (value) => value) {
  const columns = await page.locator(".grid [role=columnheader]").evaluateAll((heads) =>
    heads.map((head) => ({
      name: /^Sort by -?(.*)$/.exec(head.querySelector("button")?.title ?? "")?.[1],
      unit: /, (\S+)$/.exec(head.querySelector("button")?.firstChild?.textContent ?? "")?.[1] ?? "",
      isNumber: head.classList.contains("num"),
    })),
  );
  const rows = await page.locator(".grid .body .row:not(.sub):not(.detail)").evaluateAll((rows) =>
    rows.map((row) => ({
      place: Number(row.ariaRowIndex ?? row.getAttribute("aria-rowindex")) - 2,
      cells: [...row.querySelectorAll(".cell")].map((cell) => cell.querySelector(".ends")?.title ?? cell.innerText),
    })),
  );
  const exact = order(report.rows);
  assert.ok(rows.length > 0 || exact.length === 0, `no row on the page, ${exact.length} of the command`);
  for (const { place, cells } of rows.slice(0, ROWS)) {
    columns.forEach(({ name, unit, isNumber }, at) => {
      const value = exact[place]?.[name];
      if (name === undefined || typeof value === "object" && value !== null) return;
      const what = `row ${place}, ${name}`;
      if (isNumber && typeof value !== "string") found.same(cells[at], divide(value, name, exact[place]), what, unit);
      else if (typeof value === "string" && name === "name") found.equal(cells[at], value, what);
    });
  }
  const counted = /^([\d,]+)/.exec(await page.locator(".statusline span >> nth=0").innerText());
  found.equal(Number(counted?.[1].replaceAll(",", "")), exact.length, "rows below the table");
}

/** The page of ranks: every number of every rank. */
export async function compareDistributed(page, ask, found) {
  const [comms, steps] = await Promise.all([ask("comms"), ask("steps", { "group-by": "rank" })]);
  const rows = await page.locator(".side-by-side tbody tr").evaluateAll((rows) =>
    rows.map((row) => [...row.cells].map((cell) => cell.innerText)),
  );
  found.equal(rows.length, Math.min(64, steps.rows.length), "ranks on the page");
  for (const [rank, , dur, utilization, communication, wait, last, caused] of rows) {
    const number = Number(rank.replace("rank ", ""));
    const [times, waits] = [steps, comms].map(({ rows }) => rows.find((row) => row.rank === number));
    found.same(dur, times.dur_ns, `${rank}, step`, "ms");
    found.same(utilization, times.utilization_ratio, `${rank}, utilization`);
    found.same(communication, waits.communication_ns, `${rank}, communication`, "ms");
    found.same(wait, waits.wait_ns, `${rank}, waiting`, "ms");
    found.same(last.split(" ")[0], waits.last_arrivals, `${rank}, last to arrive`);
    found.same(caused, waits.wait_caused_to_others_ns, `${rank}, waiting caused`, "ms");
  }
}

/** Memory: the strip of the device with the highest peak. */
export async function compareMemory(page, ask, found) {
  const { devices, history } = await ask("memory");
  if (history) return compareSnapshot(page, devices, history, found);
  const device = devices.find((device) => device.device !== "cpu") ?? devices[0];
  const shown = await stats(page);
  const of = (label) => [...shown].find(([name]) => name.startsWith(label))?.[1];
  if (device.peak_allocated_bytes === null) found.same(of("Largest growth"), device.peak_delta_bytes, "growth");
  else found.same(of("Peak allocated"), device.peak_allocated_bytes, "peak");
  found.same(of("Peak reserved"), device.peak_reserved_bytes, "peak reserved");
  found.same(of("Growth over"), device.net_bytes, "net growth");
  found.same(of("Total allocated"), device.allocated_bytes, "allocated");
  found.same(of("Not freed"), device.alloc_without_free, "not freed");
}

/** A memory snapshot: figures of the chosen device, and what its two legends add up to. */
async function compareSnapshot(page, devices, history, found) {
  const named = /^gpu(\d+)/.exec(await page.locator(".lede p").last().innerText())?.[1];
  const of = (rows) => rows.find((row) => row.device_id === Number(named));
  const [state, past] = [of(devices), of(history)];
  const shown = await stats(page);
  found.same(shown.get("Peak active"), past.peak_active_bytes, "peak");
  found.same(shown.get("Reserved at the end"), state.reserved_bytes, "reserved");
  found.same(shown.get("Allocated at the end"), state.allocated_bytes, "allocated");
  found.same(shown.get("Stuck in fragments"), state.stuck_bytes, "stuck");
  found.same(shown.get("Cached, can be returned"), state.cached_bytes, "cached");
  for (const [title, exact] of [["Stack", past.peak_active_bytes], ["Memory", state.reserved_bytes]]) {
    const legend = page.locator(`.legend:has(th:text-is("${title}"))`);
    const unit = /, (\S+)$/.exec(await legend.locator("th.num").first().innerText())[1];
    const rows = await legend.locator("tbody tr td.num:nth-last-child(2)").allInnerTexts();
    found.same(rows.at(-1), exact, `${title.toLowerCase()} in all`, unit);
    const sum = rows.slice(0, -1).reduce((sum, text) => sum + Number(text.replaceAll(/[^\d.]/g, "")), 0);
    const whole = Number(rows.at(-1).replaceAll(",", ""));
    assert.ok(Math.abs(sum - whole) <= 0.01 * rows.length, `${title}: rows add up to ${sum}, not ${whole}`);
  }
}

/** The critical path: its sentence, and every row by class, operator and kernel. */
export async function compareCritical(page, ask, found) {
  const report = await ask("critical");
  const total = report.classes.reduce((sum, row) => sum + row.path_per_step_ns, 0);
  found.same(/^(?:Step|Trace) ([\d.,]+ \S+):/.exec(await page.locator("h1").innerText())?.[1] ?? "", total, "the step");
  const tables = await page.locator("main table:not(.savings)").evaluateAll((all) =>
    all.map((table) => ({
      heads: [...table.querySelectorAll("th")].map((head) => head.innerText),
      rows: [...table.tBodies[0].rows].map((row) =>
        [...row.cells].map((cell) => cell.querySelector(".ends")?.title ?? cell.innerText),
      ),
    })),
  );
  const exact = [report.classes, report.rows, report.kernels].filter(Boolean);
  found.equal(tables.length, exact.length, "the tables");
  tables.forEach(({ heads, rows }, at) => {
    const place = heads.findIndex((head) => head.startsWith("Per step"));
    const unit = /, (\S+)$/.exec(heads[place])[1];
    assert.ok(rows.length > 0, "a table without rows");
    rows.slice(0, ROWS).forEach((cells, row) => {
      const { name, path_per_step_ns: time, share_ratio: share } = exact[at][row];
      if (name !== undefined) found.equal(cells[0], name, `row ${row}`);
      found.same(cells[place], time, `${cells[0]} per step`, unit);
      found.same(cells[place + 1], share, `share of ${cells[0]}`);
    });
  });
}

/** What changes save: the two bars and each row, or why it is not known. */
export async function compareWhatif(page, ask, changes, found) {
  const { rows } = await ask("whatif", changes);
  const all = rows.at(-1);
  const panel = page.locator(".whatif");
  if (all.saving_ns === null) return found.equal((await texts(page, ".whatif-answer p")).length, 1, "the reason");
  const [now, then] = await panel.locator(".before-after .num").allInnerTexts();
  found.same(now, all.step_ns, "the step now");
  found.same(then, all.then_ns, "the step then");
  const shown = await panel.locator(".savings tbody tr").evaluateAll((all) =>
    all.map((row) => [...row.cells].map((cell) => cell.innerText)),
  );
  found.equal(shown.length, rows.length, "the changes");
  shown.forEach(([change, , saving], place) => {
    found.equal(change, rows[place].change, `change ${place}`);
    found.same(saving, rows[place].saving_ns, change);
  });
}

/** Compare: what the command says about two runs, and times of the steps that it compares. */
export async function compareSides(page, difference, found) {
  const [verdict] = difference.verdict;
  const badge = await page.locator(".sides .badge").innerText();
  found.equal(badge.split(", p")[0], verdict.verdict, "the verdict");
  const rows = await page.locator(".changes.wide").first().locator("tbody tr").evaluateAll((all) =>
    all.map((row) => [...row.cells].slice(-4).map((cell) => cell.childNodes[0]?.textContent ?? "")),
  );
  const unit = /(\S+) per step/.exec(await page.locator(".changes.wide .what").first().innerText())[1];
  difference.rows.slice(0, ROWS).forEach((exact, place) => {
    const [ofA, ofB, , change] = rows[place];
    found.same(ofA, exact.a_per_step_ns, `row ${place}, A`, unit);
    found.same(ofB, exact.b_per_step_ns, `row ${place}, B`, unit);
    if (!change.startsWith("<")) found.same(change.replace("+", ""), exact.difference_per_step_ns, `row ${place}, change`, unit);
  });
  const shown = await stats(page);
  const steps = (run) => difference.step_rows.filter((step) => step.run === run).map((step) => step.dur_ns).sort((a, b) => a - b);
  const [a, b] = [steps("A"), steps("B")];
  const nearest = (share) => (sorted) => sorted[Math.ceil(share * sorted.length) - 1];
  const mean = (times) => times.reduce((sum, time) => sum + time, 0) / times.length;
  for (const [label, of] of [["Step, mean", mean], ["Step, p50", nearest(0.5)], ["Step, p90", nearest(0.9)]]) {
    const [, ofA, ofB, unit] = /^(\S+) → ([\d,.–]+)\s*(\S+)$/.exec(shown.get(label)?.replaceAll(/\s+/g, " ") ?? "") ?? [];
    assert.ok(unit, `there are no two figures “${label}”: ${shown.get(label)}`);
    found.same(ofA, of(a), `${label}, A`, unit);
    found.same(ofB, of(b), `${label}, B`, unit);
  }
}

/** What happened in a range of the timeline, by name, with the time inside of the range. */
export async function compareRange(page, ask, { from, to }, found) {
  const rows = await page.locator(".pane tr:has(button.content)").evaluateAll((rows) =>
    rows.map((row) => [row.querySelector("button.content").title, row.cells[1].innerText, row.cells[2].innerText]),
  );
  const statement = `WITH r AS (SELECT min(start_ns) + ${from} AS f, min(start_ns) + ${to} AS t FROM steps)
    SELECT name, count(*) AS calls, sum(least(start_ns + dur_ns, t) - greatest(start_ns, f)) AS inside_ns
    FROM spans, r WHERE start_ns < t AND start_ns + dur_ns > f GROUP BY kind, name`;
  const exact = (await ask("sql", { statement })).rows;
  assert.ok(rows.length > 0, "no event in the pane");
  for (const [name, calls, time] of rows) {
    const same = exact.filter((row) => row.name === name);
    // A name of several kinds of events has a row for each.
    if (same.length !== 1) continue;
    found.same(time, same[0].inside_ns, `time of ${name}`, "ms");
    found.same(calls, same[0].calls, `calls of ${name}`);
  }
}

/** The number of rows that the rail has for a page, once it is there. */
export async function compareRail(page, name, count, found) {
  const field = page.locator(`.rail a[href^="#/${name}"] .n`);
  await field.waitFor();
  found.equal((await field.innerText()).replaceAll(",", ""), count === 0 ? "–" : String(count), `${name} in the rail`);
}
