// Which entries of a long list match what was typed.

/** What goes into the address, and what people read. */
export type Option = [value: string, text: string];

/** From here on a list is filtered by typing instead of scrolled through. */
export const MANY_OPTIONS = 30;

/** Entries that hold every typed word; those that begin with it come first, an exact one before all. */
export function matchingOptions(options: Option[], typed: string): Option[] {
  const words = typed.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return options;
  const first = words[0]!;
  const order = ([value, text]: Option) => {
    const [key, words] = [value.toLowerCase(), text.toLowerCase()];
    return key === first ? 0 : key.startsWith(first) || words.startsWith(first) ? 1 : 2;
  };
  return options
    .filter(([value, text]) => words.every((word) => text.toLowerCase().includes(word) || value.toLowerCase() === word))
    .map((option, place) => ({ option, place, order: order(option) }))
    .sort((a, b) => a.order - b.order || a.place - b.place)
    .map(({ option }) => option);
}
