// Columns that were put in or left out by hand, as the address has them: `calls,-host_total_ns`.

export type ChosenColumns = Record<string, boolean>;

export function parseColumns(text: string | undefined): ChosenColumns {
  const names = (text ?? "").split(",").filter((name) => name !== "" && name !== "-");
  return Object.fromEntries(names.map((name) => (name.startsWith("-") ? [name.slice(1), false] : [name, true])));
}

export function writeColumns(chosen: ChosenColumns): string | undefined {
  const names = Object.entries(chosen).map(([name, isShown]) => (isShown ? name : `-${name}`));
  return names.join(",") || undefined;
}
