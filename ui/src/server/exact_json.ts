// JSON whose integers keep all their digits: points in time have 19 of them, and a number keeps 16.

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;
const MARK = "\u0000integer:";

/** Parses JSON; an integer of 16 digits or more becomes a bigint. */
export function parseExact(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const marked = text.replace(TOKEN, (token) => (LONG_INTEGER.test(token) ? `"\\u0000integer:${token}"` : token));
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  );
}
