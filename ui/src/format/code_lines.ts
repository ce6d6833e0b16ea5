// Lines of code as snapshots name them: `/srv/me/model.py:39 forward`.

/** `/srv/me/model.py:39 forward` → `model.py:39 forward`; other texts stay. */
export function lineLabel(line: string): string {
  return line.replace(/^[^:]*[/\\](?=[^/\\:]+:\d+ )/, "");
}

export type ShownFrame = { text: string; isPython: boolean };

/** Frames of a stack, one per line. A frame of C++ says less about who asks for memory. */
export function framesIn(frames: string): ShownFrame[] {
  return frames
    .split("\n")
    .filter((frame) => frame !== "")
    .map((text) => ({ text, isPython: /\.py:\d+ /.test(text) }));
}

/** What stands between a line and the call it comes from. */
const CALLED_FROM = " ‹ ";

/** The operator that asks for memory: `??:0 at::_ops::exp::redispatch(…)` → `exp`. */
const OPERATOR = /\bat::_ops::(\w+)::/;

/**
 * A label for each stack: its line, and where several would read the same, the innermost call of Python around it that
 * differs, else the operators.
 */
export function stackLines(stacks: { line: string; frames: string | null }[]): string[] {
  const labels = stacks.map((stack) => lineLabel(stack.line));
  const groups = [...new Set(labels)].map((label) => [...labels.keys()].filter((place) => labels[place] === label));
  for (const group of groups.filter((group) => group.length > 1)) {
    const frames = group.map((place) => stacks[place]!.frames ?? "");
    const operators = frames.map((each) => OPERATOR.exec(each)?.[1]);
    const calls = differentCalls(frames.map(framesIn)) ?? (new Set(operators).size > 1 ? operators : []);
    group.forEach((place, at) => calls[at] && (labels[place] += CALLED_FROM + calls[at]));
  }
  return labels;
}

/** The frame of each stack at the innermost depth of Python at which not all are the same. */
function differentCalls(stacks: ShownFrame[][]): (string | undefined)[] | undefined {
  const python = stacks.map((stack) => stack.filter((frame) => frame.isPython));
  const deepest = Math.max(...python.map((stack) => stack.length));
  for (let depth = 0; depth < deepest; depth++) {
    const frames = python.map((stack) => stack[depth]?.text);
    if (new Set(frames).size > 1) return frames.map((frame) => frame && lineLabel(frame));
  }
  return undefined;
}
