// What can be completed in a statement: tables, the columns of the tables it names, and words of SQL.

export type SchemaColumn = { column: string; type: string; meaning: string; kind?: "table" | "view" };
export type Schema = Map<string, SchemaColumn[]>;
export type Proposal = { text: string; kind: "table" | "column" | "word"; note: string };

const WORDS = [
  "SELECT",
  "FROM",
  "WHERE",
  "GROUP BY",
  "ORDER BY",
  "LIMIT",
  "HAVING",
  "JOIN",
  "LEFT JOIN",
  "ON",
  "AS",
  "AND",
  "OR",
  "NOT",
  "IN",
  "IS NULL",
  "IS NOT NULL",
  "BETWEEN",
  "LIKE",
  "DESC",
  "DISTINCT",
  "CASE WHEN",
  "THEN",
  "ELSE",
  "END",
  "count(*)",
  "sum(",
  "avg(",
  "min(",
  "max(",
  "WITH",
  "approx_percentile_cont(",
  "union_length(",
  "overlap_length(",
  "OVER (PARTITION BY",
];

const MOST = 12;

/** The part of a word before the cursor. */
export function wordBefore(text: string, cursor: number): string {
  return /[\w.]*$/.exec(text.slice(0, cursor))?.[0] ?? "";
}

export function propose(text: string, cursor: number, schema: Schema): Proposal[] {
  const word = wordBefore(text, cursor);
  const part = word.slice(word.lastIndexOf(".") + 1).toLowerCase();
  const isTable = /\b(from|join)\s+\w*$/i.test(text.slice(0, cursor));
  if (part === "" && !isTable) return [];
  const named = new Set([...text.matchAll(/\b(?:from|join)\s+(\w+)/gi)].map((match) => match[1]!.toLowerCase()));
  const tables = [...schema.keys()].map((name): Proposal => ({
    text: name,
    kind: "table",
    note: `${schema.get(name)!.length} columns`,
  }));
  const columns = new Map<string, Proposal>();
  for (const [table, members] of schema) {
    if (named.size > 0 && !named.has(table)) continue;
    for (const { column, type, meaning } of members)
      if (!columns.has(column)) columns.set(column, { text: column, kind: "column", note: `${type}  ${meaning}` });
  }
  const words = WORDS.map((text): Proposal => ({ text, kind: "word", note: "" }));
  const all = isTable ? tables : [...columns.values(), ...tables, ...words];
  return all
    .filter((each) => each.text.toLowerCase().startsWith(part) && each.text.toLowerCase() !== part)
    .slice(0, MOST);
}

/** The statement with the word before the cursor replaced, and where the cursor then stands. */
export function complete(text: string, cursor: number, chosen: string): { text: string; cursor: number } {
  const word = wordBefore(text, cursor);
  const start = cursor - (word.length - word.lastIndexOf(".") - 1);
  return { text: text.slice(0, start) + chosen + text.slice(cursor), cursor: start + chosen.length };
}
