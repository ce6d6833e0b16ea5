import { describe, expect, test } from "vitest";
import { rateOf, readingWords, withSample, type Sample } from "./reading";

const reading = (done_bytes: number, total_bytes: number, done_files = 0, total_files = 1, file = "rank0.json") => ({
  done_bytes,
  total_bytes,
  done_files,
  total_files,
  file,
});

describe("how far a reading is", () => {
  test("one file: bytes, rate and time left", () => {
    expect(readingWords(reading(300_000_000, 1_200_000_000), 90_000_000)).toEqual({
      done: "300.0 MB of 1.20 GB",
      left: "90.00 MB/s · about 10 s left",
      file: "rank0.json",
    });
  });
  test("a folder counts its files", () => {
    const words = readingWords(reading(50e6, 100e6, 1000, 2000), 100_000);
    expect(words.done).toBe("1,000 of 2,000 files · 50.00 MB of 100.0 MB");
    expect(words.left).toBe("100.0 kB/s · about 9 min left");
  });
  test("before the plan and after the last byte", () => {
    expect(readingWords(null, undefined).done).toBe("looking for traces");
    expect(readingWords(reading(5, 5), undefined).left).toBe("building tables");
    expect(readingWords(reading(5, 10), undefined).left).toBe("");
  });
});

describe("the rate", () => {
  const at = (...pairs: [number, number][]) =>
    pairs.reduce((samples: Sample[], [at, bytes]) => withSample(samples, { at, bytes }), []);
  test("is that of the last seconds", () => {
    expect(rateOf(at([0, 0], [10_000, 1000], [12_000, 5000]))).toBe(2000);
  });
  test("waits for a second, and for something read", () => {
    expect(rateOf(at([0, 0], [700, 1000]))).toBeUndefined();
    expect(rateOf(at([0, 1000], [2000, 1000]))).toBeUndefined();
  });
  test("starts over with a reading that starts over", () => {
    expect(at([0, 1000], [2000, 9000], [3000, 10])).toEqual([{ at: 3000, bytes: 10 }]);
  });
});
