// How many rows each page has, for the rail. Asked one after the other once the page itself has what it needs.
import { createEffect, createRoot, createSignal } from "solid-js";
import { openQuestions } from "../server/client";
import { analysis } from "../server/questions";
import type { Report } from "../server/types";
import type { Page } from "../state/route";
import { ranks, source, sourceKey, tablePage, tablePages } from "../state/session";

const [counts, setCounts] = createSignal<Partial<Record<Page, number>>>({});

/** The number of rows of a page; undefined while it is not known. */
export function rowCount(page: Page): number | undefined {
  if (page === "distributed") return ranks().length === 1 ? 0 : ranks().length || undefined;
  const shown = tablePage(page)?.page;
  // A snapshot may have segments and no events.
  if (page === "memory" && source()?.rows.memory_segments) return undefined;
  const inTable = shown?.table ? source()?.rows[shown.table] : undefined;
  if (inTable === 0 || shown?.count === "of_table") return inTable;
  return shown?.count === "asked" ? counts()[page] : undefined;
}

/** Whether the page has something to show, as far as is known. */
export function hasRows(page: Page): boolean {
  return rowCount(page) !== 0;
}

export function followCounts(): void {
  createRoot(() =>
    createEffect(() => {
      const key = sourceKey();
      setCounts({});
      if (!key) return;
      void (async () => {
        await quiet();
        for (const { analysis: name, page } of tablePages().filter((entry) => entry.page.count === "asked")) {
          try {
            const report = await analysis(key.run, name, { rank: key.rank, window: key.window, limit: 1 });
            if (sourceKey() !== key) return;
            setCounts((before) => ({ ...before, [page.address]: rowsOf(report) }));
          } catch {
            // A count that is not there is no reason to disturb anybody.
          }
        }
      })();
    }),
  );
}

/** Waits until nothing is asked for a moment, so that counts never delay a page. */
async function quiet(): Promise<void> {
  for (let calm = 0; calm < 3; calm = openQuestions() === 0 ? calm + 1 : 0) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function rowsOf(report: Report): number | undefined {
  const table = report.parts.find((part) => part.kind === "table" && part.name === "rows");
  if (table?.kind !== "table" || table.left_out === null) return undefined;
  return table.rows.length + table.left_out;
}
