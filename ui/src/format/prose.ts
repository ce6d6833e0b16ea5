// Where a sentence must not break: between a figure and its unit.

const UNITS = [
  "%|points?|ns|µs|ms|s|min|h|bytes?|B|[KMGT]iB|[kMGT]B|[kMGT]?B/s|[kMGTP]?FLOPs?|[kMGTP]?FLOP/s",
  "steps?|ranks?|events?|kernels?|calls?",
].join("|");
const FIGURE = new RegExp(String.raw`(?:[≥≤<×±]\s)?[−-]?\d[\d,.]*\s(?:${UNITS})(?![\p{L}\d/])`, "gu");

/** The parts of a text in order; those that hold together are marked. */
export function proseParts(text: string): { text: string; isFigure: boolean }[] {
  const parts: { text: string; isFigure: boolean }[] = [];
  let from = 0;
  for (const match of text.matchAll(FIGURE)) {
    if (match.index > from) parts.push({ text: text.slice(from, match.index), isFigure: false });
    parts.push({ text: match[0], isFigure: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), isFigure: false });
  return parts;
}
