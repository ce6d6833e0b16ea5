// The canvas of the spans and of what lies behind them. It is painted when something on it has changed, and not for a
// selection or a cursor, which lie above: software that stands in for a graphics card needs a frame for it.
import { layGround } from "./ground";
import type { Picture } from "./overlay";
import { Painter, Rectangles } from "./painter";
import { rgba } from "./palette";
import type { Scene } from "./scene";
import { lengthOf } from "./view";

export class SpanCanvas {
  private readonly painter: Painter | undefined;
  private readonly ground = new Rectangles();
  private loaded: Scene | undefined;
  /** What the painted picture depends on. */
  private painted: unknown[] = [];

  constructor(canvas: HTMLCanvasElement) {
    this.painter = Painter.on(canvas);
  }

  paint(picture: Picture): void {
    const { scene, view, width, height, scroll, rows, palette } = picture;
    const now = [scene, view, width, height, scroll, rows, palette, devicePixelRatio];
    if (!this.painter || now.every((value, place) => value === this.painted[place])) return;
    this.painted = now;
    if (scene !== this.loaded) this.painter.spans.load(scene.rectangles);
    this.loaded = scene;
    layGround(this.ground, picture);
    this.painter.ground.load(this.ground);
    const pixelsPerNs = width / lengthOf(view);
    const originPixel = (scene.origin - view.from) * pixelsPerNs;
    this.painter.draw(width, height, rgba(palette.sunken), { pixelsPerNs, originPixel, scroll });
  }
}
