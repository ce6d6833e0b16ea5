import { expect, test } from "vitest";
import { complete, propose, type Schema } from "./completion";

const column = (name: string) => ({ column: name, type: "int64", meaning: "" });
const schema: Schema = new Map([
  ["spans", [column("span_id"), column("start_ns"), column("step")]],
  ["steps", [column("step"), column("start_ns")]],
]);
const texts = (statement: string) => propose(statement, statement.length, schema).map((each) => each.text);

test("tables after FROM, columns of the tables that are named", () => {
  expect(texts("SELECT * FROM s")).toEqual(["spans", "steps"]);
  expect(texts("SELECT * FROM ")).toEqual(["spans", "steps"]);
  expect(texts("SELECT 1 FROM steps WHERE sp")).toEqual(["spans"]);
  expect(texts("SELECT 1 FROM spans WHERE sp")).toEqual(["span_id", "spans"]);
  expect(texts("SELECT ")).toEqual([]);
});

test("a word is replaced up to the cursor, behind a point too", () => {
  const statement = "SELECT s.st FROM spans s";
  expect(complete(statement, 11, "start_ns")).toEqual({ text: "SELECT s.start_ns FROM spans s", cursor: 17 });
});
