// Labels of the kernels of one table. Two kernels whose short names are equal also show what differs between their full
// names: `direct_copy_kernel_cuda (elementwise) [Half]`. The terminal does it by the same rules.
import { shortKernelName } from "./kernel_name";

/** A label for each full name; labels of different names differ. */
export function kernelLabels(names: Iterable<string>): Map<string, string> {
  const groups = new Map<string, string[]>();
  for (const name of new Set(names)) {
    const short = shortKernelName(name);
    groups.set(short, [...(groups.get(short) ?? []), name]);
  }
  const labels = new Map<string, string>();
  for (const [short, group] of groups) {
    const apart = group.length > 1 ? differences(group) : [""];
    group.forEach((name, place) =>
      labels.set(name, apart === null ? name : apart[place] ? `${short} [${apart[place]}]` : short),
    );
  }
  return labels;
}

/** What each name has and not all have; null if words do not tell them apart. */
function differences(names: string[]): string[] | null {
  const all = names.map(wordsOf);
  const isShared = (word: string) => all.every((words) => words.includes(word));
  const own = all.map((words) => [...new Set(words)].filter((word) => !isShared(word)));
  // Types and sizes say more than the numbers of lambdas.
  const candidates = [own.map((words) => words.filter((word) => !word.startsWith("#"))), own, middles(all)];
  const texts = candidates.map((each) => each.map((words) => words.join(", ")));
  return texts.find((each) => new Set(each).size === names.length) ?? null;
}

/** Words of a name without namespaces; the number of a lambda keeps its sign. */
function wordsOf(name: string): string[] {
  return name.match(/#?[A-Za-z0-9_]+(?![A-Za-z0-9_]|::)/g) ?? [];
}

/** The words between those that all begin with and those that all end with. */
function middles(all: string[][]): string[][] {
  const first = all[0] ?? [];
  const shortest = Math.min(...all.map((words) => words.length));
  let [start, end] = [0, 0];
  while (start < shortest && all.every((words) => words[start] === first[start])) start++;
  while (end < shortest - start && all.every((words) => words.at(-1 - end) === first.at(-1 - end))) end++;
  return all.map((words) => words.slice(start, words.length - end));
}
