// Memory that one process alone wrote, from the kernel: what it would give back if it ended. Pages of its program and of
// files are left out: whether they count as its own follows from who else runs the same program at the moment.
import { readFileSync } from "node:fs";

export function privateBytes(pid) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return 1024 * Number(/^Private_Dirty:\s+(\d+) kB/m.exec(rollup)[1]);
}

/** The processes that hold pages of a browser. */
export async function renderers(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.filter((process) => process.type === "renderer").map((process) => process.id);
}
