import { expect, test } from "vitest";
import type { Track } from "../server/types";
import type { Row } from "./rows";
import { foldOver } from "./unfold";

const track = { track: 4, kind: "thread", process: "python", device: null } as Track;
const group = (isFolded: boolean) => ({ kind: "group", key: "h:python", isFolded }) as Row;
const row = (isFolded: boolean, first: number, count: number) =>
  ({ kind: "track", track, isFolded, lanes: Array.from({ length: count }, (_, place) => first + place) }) as unknown as Row;

test("what hides a selected event is found from the outside in", () => {
  expect(foldOver([group(true)], track, 0)).toBe("h:python");
  expect(foldOver([group(false), row(true, 0, 1)], track, 3)).toBe("4");
  // Python frames above the operators, and lanes below those that are shown.
  expect(foldOver([group(false), row(false, 5, 4)], track, 2)).toBe("+4");
  expect(foldOver([group(false), row(false, 0, 10)], track, 12)).toBe("+4");
  expect(foldOver([group(false), row(false, 0, 10)], track, 9)).toBeUndefined();
  expect(foldOver([], track, 0)).toBeUndefined();
});
