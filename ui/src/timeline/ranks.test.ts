import { expect, test } from "vitest";
import type { TimelineOutline, Track } from "../server/types";
import { chosenRanks, clockAhead, Collectives, deviceTracks, parsePeerTrack, peerTrack, type Instance } from "./ranks";

const eight = [0, 1, 2, 3, 4, 5, 6, 7];

test.each<[string | undefined, number[] | undefined]>([
  [undefined, undefined],
  ["", undefined],
  ["3", undefined],
  ["99", undefined],
  ["0,1,x,1", [0, 1, 3]],
  ["5,3", [3, 5]],
  ["all", eight],
])("ranks=%s beside rank 3", (text, want) => {
  expect(chosenRanks(text, eight, 3, [])).toEqual(want);
});

test("of many ranks both ends are shown, and the own one", () => {
  const many = Array.from({ length: 1024 }, (_, rank) => rank);
  const byWaiting = [700, 12, 5, 900, 1, 2, 3, ...many.filter((rank) => ![700, 12, 5, 900, 1, 2, 3].includes(rank))];
  expect(chosenRanks("all", many, 0, byWaiting)).toEqual([0, 5, 12, 700, 900, 1020, 1021, 1022, 1023]);
  expect(chosenRanks("all", many, 0, [])).toHaveLength(9);
});

test("a track of another rank is known by its number", () => {
  expect(parsePeerTrack(peerTrack(1023, 17))).toEqual({ rank: 1023, track: 17 });
  expect(parsePeerTrack(peerTrack(0, 0))).toEqual({ rank: 0, track: 0 });
  expect(parsePeerTrack(41)).toBeUndefined();
});

const track = (number: number, kind: Track["kind"], spans: number) =>
  ({ track: number, kind, spans, device: kind === "stream" ? 0 : null }) as Track;

test("a rank is its streams, or its busiest thread", () => {
  const of = (tracks: Track[]) => deviceTracks({ tracks } as TimelineOutline).map((track) => track.track);
  expect(of([track(0, "thread", 900), track(1, "stream", 5), track(2, "stream", 0), track(3, "stream", 50)])).toEqual([3, 1]);
  expect(of([track(0, "thread", 5), track(1, "thread", 9)])).toEqual([1]);
  expect(of([0, 1, 2, 3, 4, 5].map((number) => track(number, "stream", number === 5 ? 3 : 1000)))).toEqual([0, 1, 2, 3, 4]);
});

/** Collectives end together; the clock of rank 1 is ahead by 500. */
const instance = (rank: number, key: string, start: number, dur: number, transfer: number): Instance => ({
  rank,
  spanId: Number(key) * 10 + rank,
  key,
  startNs: 1_700_000_000_000_000_000n + BigInt(start),
  durNs: dur,
  transferNs: transfer,
});
const collectives = new Collectives([
  instance(0, "1", 100, 50, 20),
  instance(1, "1", 630, 20, 20),
  instance(0, "2", 200, 10, 10),
  instance(1, "2", 690, 21, 10),
  instance(0, "3", 300, 10, 10),
  instance(1, "3", 700, 110, 10),
  instance(2, "9", 5, 1, 1),
]);

test("a collective is found on all ranks", () => {
  const own = collectives.at(1, 21)!;
  expect(own.durNs - own.transferNs).toBe(11);
  expect(collectives.sameAs(own).map((each) => each.rank)).toEqual([0, 1]);
  expect(collectives.at(0, 21)).toBeUndefined();
});

test("clocks come together by the offsets of comms, or by what the ranks have in common", () => {
  expect(collectives.medianApart(1, 0)).toBe(500);
  expect(clockAhead(new Map([[0, 40], [1, 541]]), collectives, 1, 0)).toBe(501);
  expect(clockAhead(new Map([[0, 40], [1, 541]]), collectives, 0, 1)).toBe(-501);
  expect(clockAhead(new Map(), collectives, 0, 0)).toBe(0);
  // Offsets from different groups do not compare.
  expect(clockAhead(new Map([[0, 0], [1, 9e9]]), collectives, 1, 0)).toBe(500);
  // Nothing in common: not known, whatever the offsets are.
  expect(clockAhead(new Map([[0, 0], [2, 7]]), collectives, 2, 0)).toBeUndefined();
});
