// What lies behind the spans: the lines of the ruler, and between tracks.
import { visible, type Picture } from "./overlay";
import { BUCKET, rgba } from "./palette";
import type { Rectangles } from "./painter";
import { lengthOf, rulerFormat, TICK_PX } from "./view";

export function layGround(rectangles: Rectangles, picture: Picture): void {
  const { view, width, scroll, height } = picture;
  const [line, surface] = [rgba(picture.palette.line), rgba(picture.palette.surface)];
  rectangles.size = 0;
  const add = (from: number, to: number, top: number, tall: number, color: readonly number[]) =>
    rectangles.add(from - picture.scene.origin, to - picture.scene.origin, top, tall, color, 1, BUCKET);
  const { step } = rulerFormat(view, width / TICK_PX);
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) add(at, at, scroll, height, line);
  const [from, to] = [view.from, view.to + lengthOf(view) / width];
  for (const row of visible(picture)) {
    if (row.kind === "group") {
      add(from, to, row.y, row.height, surface);
      add(from, to, row.y, 1, line);
    }
    add(from, to, row.y + row.height - 1, 1, line);
  }
}
