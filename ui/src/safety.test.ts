// Rules for the source itself: texts from traces are only ever text, and nothing leaves this machine.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = new URL(".", import.meta.url).pathname;
const files = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter(
  (name) => /\.(ts|tsx|css)$/.test(name) && !name.endsWith(".test.ts"),
);
const sources = files.map((name) => ({ name, text: readFileSync(join(ROOT, name), "utf8") }));

const FORBIDDEN: [string, RegExp][] = [
  [
    "markup from text",
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc/,
  ],
  ["code from text", /\beval\(|new Function|javascript:/],
  ["a style attribute, which the content security policy refuses", /style="|setAttribute\(\s*["']style/],
  ["a style that never changes, which ends up in such an attribute", /style=\{\{[^}]*?[\w"]:\s*"[^"]*"\s*[,}]/],
  ["an address outside of this server", /["'`(]\s*(https?:)?\/\/[a-z]/i],
  ["a worker or script from a blob", /new SharedWorker|new Worker\((?!new URL\("\.\/)|importScripts|serviceWorker/],
];

describe.each(FORBIDDEN)("no file holds %s", (_, pattern) => {
  test.each(sources)("$name", ({ text }) => expect(text).not.toMatch(pattern));
});

test("a file holds one idea", () => {
  const written = sources.filter(({ text }) => !text.startsWith("// Generated"));
  const long = written.filter(({ text }) => text.split("\n").length > 400).map(({ name }) => name);
  expect(long).toEqual([]);
});
