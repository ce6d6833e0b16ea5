// Where in the user's code a stack comes from. Stacks are written from the innermost frame, separated by semicolons.

const SEPARATOR = ";";
/** What stands between the frames of a label. */
export const BETWEEN_FRAMES = " › ";

/** Code that users call but do not write: PyTorch, installed packages, and Python itself. */
const LIBRARY =
  /(^|\/)(site-packages|dist-packages)\/|^torch\/|\/torch\/(nn|_|utils|optim|autograd|cuda|profiler|distributed)|\/lib\/python\d|(^|[/<. ])importlib|^<|^nn\.Module: |^(threading|runpy|contextlib|functools|selectors|socketserver|queue)\.py\(|^(concurrent|multiprocessing|asyncio)\//;
/** Frames that every call goes through and that say nothing. */
const PLUMBING = /_call_impl$|^<built-in/;

/** `/a/b/conv.py(440): _conv_forward` → `conv.py(440): _conv_forward`. */
export function frameLabel(frame: string): string {
  return frame.replace(/^[^():]*\/(?=[^/]*\(\d+\): )/, "");
}

export function framesOf(stack: string): string[] {
  return stack.split(SEPARATOR).filter((frame) => frame !== "");
}

/** The innermost frame of the user's code, else the innermost that says something. */
export function userFrame(frames: string[]): string | undefined {
  return (
    frames.find((frame) => !LIBRARY.test(frame)) ?? frames.find((frame) => !PLUMBING.test(frame)) ?? frames[0]
  );
}

export type Stacked = { /** What else tells rows apart. */ key: string; stack: string | null };

/**
 * A label for each stack: the frame of the user's code, and where rows of one key would read the same, the frames
 * inside or around it that differ. Null where there is no stack.
 */
export function stackLabels(rows: Stacked[]): (string | null)[] {
  const stacks = rows.map((row) => framesOf(row.stack ?? ""));
  const chosen = stacks.map((frames) => new Set(frames.length > 0 ? [frames.indexOf(userFrame(frames)!)] : []));
  // Folders are needed where two files of one name differ by nothing else.
  const naming = stacks.map(() => frameLabel);
  const label = (row: number) =>
    [...chosen[row]!]
      .sort((a, b) => b - a)
      .map((at) => naming[row]!(stacks[row]![at]!))
      .map(shortened)
      .join(BETWEEN_FRAMES);
  const same = (members: number[]) => {
    const groups = new Map<string, number[]>();
    for (const row of members) {
      const text = JSON.stringify([rows[row]!.key, label(row)]);
      const group = groups.get(text);
      if (group) group.push(row);
      else groups.set(text, [row]);
    }
    return [...groups.values()].filter((group) => group.length > 1);
  };
  const all = stacks.flatMap((frames, row) => (frames.length > 0 ? [row] : []));
  for (const name of [frameLabel, (frame: string) => frame]) {
    for (let open = same(all); open.length > 0;) {
      for (const row of open.flat()) naming[row] = name;
      open = open.flatMap((group) => (tellApart(group, stacks, chosen, name) ? same(group) : []));
    }
  }
  return stacks.map((frames, row) => (frames.length > 0 ? label(row) : null));
}

/** Frames between the first and the last lose their functions; one in the file of the frame before it loses the file. */
function shortened(name: string, at: number, all: string[]): string {
  const fileOf = (frame: string | undefined) => /^[^(]*(?=\(\d+\))/.exec(frame ?? "")?.[0];
  const file = fileOf(name);
  const place = at > 1 && file !== undefined && file === fileOf(all[at - 1]) ? name.slice(file.length) : name;
  return at > 0 && at < all.length - 1 ? place.replace(/: .*$/, "") : place;
}

/** Adds the innermost frame that not all of the group have to each; false if there is none. */
function tellApart(
  group: number[],
  stacks: string[][],
  chosen: Set<number>[],
  name: (frame: string) => string,
): boolean {
  const labels = group.map((row) => stacks[row]!.map(name));
  const inHowMany = new Map<string, number>();
  for (const each of labels)
    for (const label of new Set(each)) inHowMany.set(label, (inHowMany.get(label) ?? 0) + 1);
  let hasChanged = false;
  group.forEach((row, place) => {
    const found = labels[place]!.findIndex(
      (label, at) => inHowMany.get(label)! < group.length && !PLUMBING.test(label) && !chosen[row]!.has(at),
    );
    if (found < 0) return;
    chosen[row]!.add(found);
    hasChanged = true;
  });
  return hasChanged;
}
