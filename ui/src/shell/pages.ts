// The pages in the order of the rail, with their keys and what they are made of.
import type { Page } from "../state/route";
import type { IconName } from "./icons";

export type PageEntry = { page: Page; label: string; icon: IconName; key: string };
export type PageGroup = { caption: string; pages: PageEntry[] };

export const RAIL: PageGroup[] = [
  {
    caption: "Explore",
    pages: [
      { page: "overview", label: "Overview", icon: "overview", key: "o" },
      { page: "timeline", label: "Timeline", icon: "timeline", key: "t" },
    ],
  },
  {
    caption: "Tables",
    pages: [
      { page: "operators", label: "Operators", icon: "operators", key: "p" },
      { page: "kernels", label: "Kernels", icon: "kernels", key: "k" },
      { page: "modules", label: "Modules", icon: "modules", key: "m" },
      { page: "transfers", label: "Transfers", icon: "transfers", key: "x" },
      { page: "communication", label: "Communication", icon: "communication", key: "c" },
      { page: "memory", label: "Memory", icon: "memory", key: "y" },
      { page: "steps", label: "Steps", icon: "steps", key: "e" },
      { page: "launches", label: "Launches", icon: "launches", key: "l" },
      { page: "regions", label: "Regions", icon: "regions", key: "r" },
      { page: "functions", label: "Functions", icon: "functions", key: "f" },
    ],
  },
  {
    caption: "Compare",
    pages: [
      { page: "distributed", label: "Distributed", icon: "distributed", key: "d" },
      { page: "compare", label: "Compare", icon: "compare", key: "=" },
    ],
  },
  { caption: "Query", pages: [{ page: "sql", label: "SQL", icon: "sql", key: "s" }] },
];

export const RAIL_PAGES: PageEntry[] = RAIL.flatMap((group) => group.pages);

/** What the finding of a command line calls a page. */
export const PAGE_OF_COMMAND: Record<string, Page> = {
  summary: "overview",
  steps: "steps",
  ops: "operators",
  kernels: "kernels",
  modules: "modules",
  transfers: "transfers",
  comms: "communication",
  memory: "memory",
  launches: "launches",
  regions: "regions",
  functions: "functions",
};
