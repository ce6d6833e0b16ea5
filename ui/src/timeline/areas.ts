// Curves as rectangles: a faint area, and a line along its top.
import { lowest } from "./lanes";
import { BUCKET, mixed, rgba, type Palette, type Rgba } from "./palette";
import type { Rectangles } from "./painter";
import type { Range } from "./view";

/** What changes within so many pixels is one column, from its least to its largest value. */
const COLUMN_PX = 2;
const AREA_SHARE = 0.2;
const LINE_PX = 1;
/** Room below and above, in pixels. */
const [BELOW, ABOVE] = [4, 6];

/** Values between 0 and `most`; each holds until the next. */
export type Stairs = { times: Float64Array; values: Float64Array; most: number };

/** Draws stairs over each other into one scene. */
export class Areas {
  private readonly area: Rgba;
  private readonly line: Rgba;
  private readonly columnNs: number;

  constructor(
    private readonly rectangles: Rectangles,
    private readonly origin: number,
    pixelNs: number,
    palette: Palette,
  ) {
    // Not transparent: columns that share a pixel would show.
    this.area = mixed(rgba(palette.sunken), rgba(palette.ink2), AREA_SHARE);
    this.line = rgba(palette.ink3);
    this.columnNs = COLUMN_PX * pixelNs;
  }

  /** The part of the stairs that lies in a range, into a row of the board. */
  add({ times, values, most }: Stairs, range: Range, row: { y: number; height: number }): void {
    const tall = row.height - BELOW - ABOVE;
    const floor = row.y + row.height - BELOW;
    let before = 0;
    for (let at = Math.max(0, lowest(times.length, (i) => times[i]! > range.from) - 1); at < times.length; ) {
      const start = Math.max(times[at]!, range.from);
      if (start >= range.to) return;
      let [least, largest, next] = [values[at]!, values[at]!, at + 1];
      for (; next < times.length && times[next]! < start + this.columnNs; next++) {
        least = Math.min(least, values[next]!);
        largest = Math.max(largest, values[next]!);
      }
      const last = values[next - 1]!;
      // Where much changes a column stands for it, and the last value goes on behind.
      const split = next - at > 1 ? Math.max(start, Math.min(range.to, times[next - 1]!)) : start;
      const end = Math.min(range.to, times[next] ?? range.to);
      const y = (value: number) => floor - (Math.max(0, value) / most) * tall;
      if (split > start) this.rectangle(start, split, y(largest), floor, this.area);
      this.rectangle(split, end, y(last), floor, this.area);
      this.rectangle(start, split, y(Math.max(largest, before)), y(Math.min(least, before)) + LINE_PX, this.line);
      this.rectangle(split, end, y(last), y(last) + LINE_PX, this.line);
      [before, at] = [last, next];
    }
  }

  private rectangle(from: number, to: number, top: number, bottom: number, color: Rgba): void {
    this.rectangles.add(from - this.origin, to - this.origin, top, bottom - top, color, 1, BUCKET);
  }
}
