import { expect, test } from "vitest";
import { isAborted, isOutdated, OutdatedError } from "./answer_to";
import { revisionOf, showRevisions } from "./revisions";

test("an answer from another state of its run is outdated", () => {
  expect(isOutdated("2", 1)).toBe(true);
  expect(isOutdated("1", 1)).toBe(false);
  // Servers before revisions, and questions that are about no run.
  expect(isOutdated(null, 1)).toBe(false);
  expect(isOutdated("1", undefined)).toBe(false);
  expect(isAborted(new OutdatedError())).toBe(true);
});

test("a run that is gone has no revision", () => {
  showRevisions([{ run: "a", revision: 1 }]);
  showRevisions([{ run: "b", revision: 2 }]);
  expect([revisionOf("a"), revisionOf("b")]).toEqual([undefined, 2]);
});
