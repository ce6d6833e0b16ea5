// Texts on a canvas. Measuring is slow, and the same names come again in every frame.

const MOST_KNOWN = 20_000;
const LEAST_LETTERS = 4;

/** The size of all texts that are measured here. */
export const LABEL_FONT_PX = 11;

const widths = new Map<string, number>();

/** The width of a text in the font of labels, which the context must have. */
export function textWidth(context: CanvasRenderingContext2D, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > MOST_KNOWN) widths.clear();
    widths.set(text, (width = context.measureText(text).width));
  }
  return width;
}

/** As much of a text as fits, with `…` for the rest; nothing if that would say nothing. */
export function fittedText(context: CanvasRenderingContext2D, text: string, room: number): string {
  const width = textWidth(context, text);
  if (width <= room) return text;
  const letters = Math.floor((text.length * room) / width) - 1;
  return letters < LEAST_LETTERS ? "" : `${text.slice(0, letters)}…`;
}
