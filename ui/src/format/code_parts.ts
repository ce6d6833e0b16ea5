// Words with code between backticks, as Markdown has it.

export type TextPart = { text: string; isCode: boolean };

/** The parts of a text in order. A backtick without a second one stays as it is. */
export function codeParts(text: string): TextPart[] {
  return text
    .split(/(`[^`]+`)/)
    .filter((part) => part !== "")
    .map((part) => (/^`.+`$/s.test(part) ? { text: part.slice(1, -1), isCode: true } : { text: part, isCode: false }));
}
