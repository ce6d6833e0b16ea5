// The pages in the order of the rail, with their keys. Those that are an analysis come from the server, which has them
// from the analyses themselves.
import type { Page } from "../state/route";
import { tablePages } from "../state/session";

export type RailEntry = { page: Page; label: string; key: string | null };
export type RailGroup = { caption: string; pages: RailEntry[] };

const EXPLORE: RailEntry[] = [
  { page: "overview", label: "Overview", key: "o" },
  { page: "timeline", label: "Timeline", key: "t" },
];
const COMPARE: RailEntry[] = [
  { page: "distributed", label: "Distributed", key: "d" },
  { page: "compare", label: "Compare", key: "=" },
];
const QUERY: RailEntry[] = [{ page: "sql", label: "SQL", key: "s" }];

export const rail = (): RailGroup[] => [
  { caption: "Explore", pages: EXPLORE },
  {
    caption: "Tables",
    pages: tablePages().map(({ label, page }) => ({ page: page.address, label, key: page.key })),
  },
  { caption: "Compare", pages: COMPARE },
  { caption: "Query", pages: QUERY },
];

export const railPages = (): RailEntry[] => rail().flatMap((group) => group.pages);

/** The page that shows an analysis. */
export function pageOf(analysis: string): Page | undefined {
  if (analysis === "summary") return "overview";
  return tablePages().find((entry) => entry.analysis === analysis)?.page.address;
}
