// Memory that belongs to one process alone, from the kernel: what it would give back if it ended.
import { readFileSync } from "node:fs";

export function privateBytes(pid) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)].reduce(
    (sum, [, kilobytes]) => sum + 1024 * Number(kilobytes),
    0,
  );
}

/** The processes that hold pages of a browser. */
export async function renderers(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.filter((process) => process.type === "renderer").map((process) => process.id);
}
