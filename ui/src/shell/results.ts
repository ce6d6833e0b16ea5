// What the search in the top bar finds, in groups: pages, findings, then names of the recording as the server has them.
import { frameLabel } from "../format/frames";
import { shortKernelName } from "../format/kernel_name";
import { count, figureText } from "../format/number";
import type { FoundName, NameGroup } from "../server/types";
import type { Choices, Page } from "../state/route";

export type Destination = { page: Page; changes: Choices } | { finding: string };
export type Result = { label: string; note: string; whole: string; isName: boolean; destination: Destination };
export type ResultGroup = { key: string; label: string; count: number; results: Result[] };

/** Entries of pages and findings that one group shows; names come in this number from the server. */
export const MOST_IN_GROUP = 5;
const MODULE = "nn.Module: ";

type Naming = {
  label: string;
  /** Where all names of the group are rows; those of the others are found in the timeline. */
  page?: Page;
  short?: (name: string) => string;
};

const NAMINGS: Record<string, Naming> = {
  operators: { label: "Operators", page: "operators" },
  kernels: { label: "Kernels", page: "kernels", short: shortKernelName },
  modules: { label: "Modules", short: (name) => name.slice(MODULE.length) },
  transfers: { label: "Copies and fills" },
  collectives: { label: "Collectives", short: shortKernelName },
  regions: { label: "Regions", page: "regions" },
  frames: { label: "Python frames", short: frameLabel },
  calls: { label: "Runtime calls" },
  others: { label: "Other events" },
};

export type Found = {
  pages: { page: Page; label: string }[];
  findings: { rule: string; title: string }[];
  names: NameGroup[];
};

/** The groups that have something, the way to all events first. */
export function resultGroups(text: string, found: Found): ResultGroup[] {
  const wanted = text.toLowerCase();
  const holds = (label: string) => label.toLowerCase().includes(wanted);
  const everything: Result = {
    label: `Find “${text}” in the timeline`,
    note: "Timeline",
    whole: text,
    isName: false,
    destination: { page: "timeline", changes: { q: text } },
  };
  const pages = found.pages.filter((page) => holds(page.label));
  const findings = found.findings.filter((finding) => holds(finding.title) || holds(finding.rule.replaceAll("_", " ")));
  const groups: ResultGroup[] = [
    { key: "events", label: "Events", count: 1, results: [everything] },
    {
      key: "pages",
      label: "Pages",
      count: pages.length,
      results: pages.map(({ page, label }) => ({
        label,
        note: "Page",
        whole: label,
        isName: false,
        destination: { page, changes: {} },
      })),
    },
    {
      key: "findings",
      label: "Findings",
      count: findings.length,
      results: findings.map(({ rule, title }) => ({
        label: title,
        note: "Show in timeline",
        whole: title,
        isName: false,
        destination: { finding: rule },
      })),
    },
  ];
  for (const group of groups) group.results = group.results.slice(0, MOST_IN_GROUP);
  return [...groups, ...found.names.map((group) => namesGroup(text, group))].filter((group) => group.count > 0);
}

/** What an earlier text found, as far as it holds the new one: a list that stays while the answer is on its way. */
export function stillHolding(groups: NameGroup[], earlier: string, text: string): NameGroup[] {
  if (earlier === text) return groups;
  const wanted = text.toLowerCase();
  return groups.map((group) => {
    const names = group.names.filter((found) => found.name.toLowerCase().includes(wanted));
    return { ...group, names, count: names.length };
  });
}

function namesGroup(text: string, group: NameGroup): ResultGroup {
  const naming = NAMINGS[group.group] ?? { label: group.group };
  const results = group.names.map((found): Result => ({
    label: naming.short?.(found.name) ?? found.name,
    note: `${figureText("ns", found.total_ns)} · ${count(found.count)} ×`,
    whole: found.name,
    isName: true,
    destination: { page: naming.page ?? "timeline", changes: naming.page ? { sel: found.name } : longestOf(found) },
  }));
  const more = group.count - results.length;
  if (more > 0)
    results.push({
      label: `and ${count(more)} more`,
      note: "",
      whole: "",
      isName: false,
      destination: { page: naming.page ?? "timeline", changes: { q: text } },
    });
  return { key: group.group, label: naming.label, count: group.count, results };
}

/** The longest event of a name, with the others marked. */
function longestOf(found: FoundName): Choices {
  return { q: found.name, sel: String(found.longest_span_id) };
}

/** The place after a move through a list that goes round; undefined stands for the text itself. */
export function moved(now: number | undefined, by: number, length: number): number | undefined {
  if (length === 0) return undefined;
  if (now === undefined) return by > 0 ? 0 : length - 1;
  return (now + by + length) % length;
}
