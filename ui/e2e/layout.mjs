// Faults of layout that show in the boxes of a page: texts over each other or under a picture, something outside of its
// panel, a text that is cut without saying so, a figure on two lines.

import { settled } from "./browser.mjs";

/** One text for each fault on screen; empty if the page is in order. */
export async function layoutFaults(page) {
  return page.evaluate(() => {
    const PANELS = ".panel, .strip, .stat, .topbar, .rail, main, dialog";
    const FIGURES = ".num, .stat .v, .cost, .facts dd";
    // What floats above the page covers it on purpose.
    const FLOATING = ".popover, .tip, .toast, .reading, .hidden-text, .as-table:not(:focus), option";
    const UNITS = "%|ns|µs|ms|s|min|B|kB|MB|GB|TB|KiB|MiB|GiB|TiB|kB/s|MB/s|GB/s|FLOP|[kMGTP]?FLOP/s";
    const QUANTITY = new RegExp(String.raw`[≥<−-]?\s?[\d,.]*\d[\s\u00a0](?:${UNITS})(?![\w/])`, "g");
    // An open dialog covers the page: what is looked at is the dialog alone.
    const root = document.querySelector("dialog[open]") ?? document.body;
    const found = new Set();
    const say = (text) => found.add(text);
    const short = (text) => {
      const plain = text.replaceAll(/\s+/g, " ").trim();
      return plain.length > 40 ? `${plain.slice(0, 39)}…` : plain;
    };
    const style = (element) => getComputedStyle(element);
    const named = (element) => element.closest("section, .strip, .topbar, .rail, main")?.querySelector("h2")?.textContent;
    const place = (element) => {
      const name = typeof element.className === "string" && element.className ? `.${element.className.split(" ")[0]}` : "";
      const title = named(element);
      return `${element.localName}${name}${title ? ` in “${short(title)}”` : ""}`;
    };
    const meet = (a, b) => ({
      left: Math.max(a.left, b.left),
      right: Math.min(a.right, b.right),
      top: Math.max(a.top, b.top),
      bottom: Math.min(a.bottom, b.bottom),
    });
    const screen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };

    /** What is left of a box after everything around it has cut it; `isCut` if something that does not scroll did. */
    const clips = new Map();
    const clipOf = (element) => {
      if (!element || element === document.documentElement) return { box: screen, hidden: screen };
      const known = clips.get(element);
      if (known) return known;
      const around = clipOf(element.parentElement);
      const { overflowX, overflowY, position } = style(element);
      let { box, hidden } = position === "fixed" ? { box: screen, hidden: screen } : around;
      if (element.localName !== "svg" && (overflowX !== "visible" || overflowY !== "visible")) {
        const own = element.getBoundingClientRect();
        box = meet(box, own);
        // Behind an edge that scrolls, the cut is not a fault, and edges further out cut only what scrolls.
        const scrolls = (overflow) => overflow === "auto" || overflow === "scroll";
        const open = { left: -1e9, right: 1e9, top: -1e9, bottom: 1e9 };
        hidden = {
          ...(scrolls(overflowX) ? { left: open.left, right: open.right } : { left: Math.max(hidden.left, own.left), right: Math.min(hidden.right, own.right) }),
          ...(scrolls(overflowY) ? { top: open.top, bottom: open.bottom } : { top: Math.max(hidden.top, own.top), bottom: Math.min(hidden.bottom, own.bottom) }),
        };
      }
      const clip = { box, hidden };
      clips.set(element, clip);
      return clip;
    };
    const isSeen = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
    const isTransparent = (element) => style(element).color.endsWith(", 0)");

    // Every line of every text.
    const lines = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (!node.data.trim() || !parent || parent.closest(FLOATING) || parent.closest("script, style, title, defs") || !isSeen(parent) || isTransparent(parent)) continue;
      range.selectNodeContents(node);
      const rects = [...range.getClientRects()].filter((rect) => rect.width > 0.5 && rect.height > 0.5);
      const clip = clipOf(parent);
      let isOnScreen = false;
      for (const rect of rects) {
        const seen = meet(rect, clip.box);
        if (seen.right - seen.left < 1 || seen.bottom - seen.top < 1) continue;
        isOnScreen = true;
        lines.push({ node, parent, rect: seen });
        // Bare screens end pages that scroll; their main part says so by itself.
        const lost = Math.max(clip.hidden.left - rect.left, rect.right - clip.hidden.right);
        const lower = Math.max(clip.hidden.top - rect.top, rect.bottom - clip.hidden.bottom);
        if (lost > 1.5) {
          const cut = parent.closest("*");
          let block = cut;
          while (block && style(block).display.startsWith("inline") && !style(block).display.includes("-")) block = block.parentElement;
          const hasDots = [cut, block].some((each) => each && style(each).textOverflow === "ellipsis");
          if (!hasDots) say(`cut without …: “${short(node.data)}” (${place(parent)})`);
          else if (!parent.closest("[title]:not(main)")) say(`cut without its title: “${short(node.data)}” (${place(parent)})`);
        } else if (lower > 4 && clip.hidden !== screen) {
          if (style(parent).webkitLineClamp === "none") say(`cut at the top or foot: “${short(node.data)}” (${place(parent)})`);
        }
      }
      if (!isOnScreen) continue;
      const linesOf = (rects) => new Set([...rects].filter((rect) => rect.width > 0.5).map((rect) => Math.round(rect.top / 4))).size;
      if (parent.closest(FIGURES) && !parent.closest("svg") && linesOf(rects) > 1) say(`a figure on two lines: “${short(node.data)}” (${place(parent)})`);
      for (const match of node.data.matchAll(QUANTITY)) {
        range.setStart(node, match.index);
        range.setEnd(node, match.index + match[0].length);
        if (linesOf(range.getClientRects()) > 1) say(`a figure apart from its unit: “${match[0]}” (${place(parent)})`);
      }
    }

    // Texts over each other: sorted from top to bottom, so that each meets its neighbors only.
    const inset = (rect) => ({ left: rect.left + 1, right: rect.right - 1, top: rect.top + 3, bottom: rect.bottom - 3 });
    const overlap = (a, b) => {
      const both = meet(a, b);
      return both.right - both.left > 1 && both.bottom - both.top > 1;
    };
    lines.sort((a, b) => a.rect.top - b.rect.top);
    for (let i = 0; i < lines.length; i++) {
      const box = inset(lines[i].rect);
      for (let j = i + 1; j < lines.length && lines[j].rect.top < lines[i].rect.bottom; j++) {
        if (lines[i].node === lines[j].node || !overlap(box, inset(lines[j].rect))) continue;
        say(`one over the other: “${short(lines[i].node.data)}” and “${short(lines[j].node.data)}” (${place(lines[j].parent)})`);
      }
    }

    // Pictures over texts that are not theirs.
    for (const picture of root.querySelectorAll(".spark svg, .spark, .step-chart svg, .busy-strip, .heat, .bar-track, .meter, .memory-chart canvas, .stacked-chart canvas, .segment-chart canvas")) {
      if (!isSeen(picture)) continue;
      const box = meet(picture.getBoundingClientRect(), clipOf(picture.parentElement).box);
      for (const line of lines)
        if (!picture.contains(line.node) && !line.parent.closest(".u-legend, .over") && overlap(inset(line.rect), box))
          say(`a picture over a text: ${place(picture)} over “${short(line.node.data)}”`);
    }

    // Boxes outside of their panel.
    for (const panel of root === document.body ? document.querySelectorAll(PANELS) : [root]) {
      if (!isSeen(panel)) continue;
      if (panel.matches(".panel") && panel.scrollWidth > panel.clientWidth + 1)
        say(`columns of ${place(panel)} begin behind its edge: ${panel.scrollWidth - panel.clientWidth} px`);
      const own = panel.getBoundingClientRect();
      for (const element of panel.querySelectorAll("*")) {
        if (element.closest(FLOATING) || !isSeen(element)) continue;
        const rect = element.getBoundingClientRect();
        if (rect.width < 1 || rect.height < 1) continue;
        const out = Math.max(own.left - rect.left, rect.right - own.right);
        if (out <= 1.5) continue;
        const { box } = clipOf(element.parentElement);
        const seen = meet(rect, box);
        if (Math.max(own.left - seen.left, seen.right - own.right) > 1.5 && seen.bottom > seen.top)
          say(`${Math.round(out)} px outside of ${place(panel)}: ${place(element)} “${short(element.textContent ?? "")}”`);
      }
    }
    return [...found];
  });
}

/** Ways through runs of other sizes; each for the run whose name it begins with. */
export const sizedJourneys = {
  "steps-10000: a long list is filtered by typing": async (page) => {
    await page.getByRole("button", { name: /^Steps:/ }).click();
    await page.keyboard.type("4270");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("steps=4270"));
    await page.getByRole("button", { name: /^Steps: 4270/ }).waitFor();
  },
  "steps-10000: the chart says what a bar is": async (page) => {
    const note = await page.locator(".chart-note").first().innerText();
    if (!/^each bar is the mean of \d+ steps/.test(note)) throw new Error(`the chart says “${note}”`);
    const bars = await page.locator(".step-chart svg > g").count();
    if (bars > 1000) throw new Error(`${bars} bars for 10,000 steps`);
  },
  "steps-96: sheets fit, and health begins with its cause": async (page) => {
    for (const open of [() => page.keyboard.press("?"), () => page.locator(".health-button").click()]) {
      await open();
      await page.locator("dialog[open]").waitFor();
      await settled(page);
      const faults = await layoutFaults(page);
      if (faults.length > 0) throw new Error(faults.join("; "));
      await page.keyboard.press("Escape");
    }
    await page.locator(".health-button").click();
    const first = await page.locator("dialog .inside > *").first().innerText();
    if (!first.startsWith("No event is lost")) throw new Error(`health begins with “${first}”`);
  },
  "steps-1: a reading says its rate, its files and the time left": async (page) => {
    const session = await page.evaluate(async () => (await fetch("api/session")).json());
    const name = "llama-pretraining-2026-11-14-node-0017-attempt-3";
    let asked = 0;
    await page.route("**/api/session", (route) => {
      asked += 1;
      const progress = { done_bytes: asked * 7e6, total_bytes: 4e9, done_files: asked, total_files: 2000, file: "rank17.json" };
      const run = { run: name, state: "reading", progress, error: null, sources: [], apart_because: null };
      return route.fulfill({ json: { ...session, runs: [run] } });
    });
    await page.evaluate((run) => (location.hash = `#/overview?run=${run}`), name);
    const words = page.locator(".progress");
    await words.getByText(/^\d+ of 2,000 files · .* of 4.00 GB$/).waitFor();
    await words.getByText(/MB\/s · about \d+ (s|min) left$/).waitFor();
    await words.getByText("rank17.json").waitFor();
    const faults = await layoutFaults(page);
    if (faults.length > 0) throw new Error(faults.join("; "));
  },
};
