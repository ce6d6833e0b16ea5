// One mode for the hand: drag chooses a range, the ruler moves, Alt draws a box to zoom to, Shift moves from anywhere.
import type { Range } from "./view";
import { lengthOf, panBy, zoomAbout } from "./view";

/** From here on a press is a drag. */
const DRAG_PX = 4;
const NOTCH = 1.2;
const NOTCH_PX = 100;

export type Surface = {
  view: () => Range;
  /** Pixels of the view; asking the canvas would lay out the page at every input. */
  width: () => number;
  bounds: Range;
  look: (view: Range, history?: "push" | "replace") => void;
  /** The time under a pixel, moved to the edge of a span nearby unless Alt is held. */
  snapped: (x: number, y: number, isFree: boolean) => number;
  click: (x: number, y: number) => void;
  hover: (x: number, y: number) => void;
  leave: () => void;
  /** A range while it is drawn, and when it is done. */
  drawing: (range: Range | undefined) => void;
  chose: (range: Range) => void;
};

export function followHand(canvas: HTMLElement, isRuler: boolean, surface: Surface, stop: AbortSignal): void {
  type Drag = { x: number; y: number; view: Range; mode: "range" | "zoom" | "pan"; from: number; isMoving: boolean };
  let drag: Drag | undefined;
  const listen = <K extends keyof HTMLElementEventMap>(
    name: K,
    handle: (event: HTMLElementEventMap[K]) => void,
    options?: AddEventListenerOptions,
  ) => canvas.addEventListener(name, handle, { signal: stop, ...options });
  const timeAt = (x: number, view: Range) => view.from + (x / surface.width()) * lengthOf(view);

  listen("pointerdown", (event) => {
    if (event.button > 1) return;
    const mode = isRuler || event.shiftKey || event.button === 1 ? "pan" : event.altKey ? "zoom" : "range";
    drag = {
      x: event.offsetX,
      y: event.offsetY,
      view: surface.view(),
      mode,
      from: surface.snapped(event.offsetX, event.offsetY, event.altKey),
      isMoving: false,
    };
    canvas.setPointerCapture(event.pointerId);
  });
  listen("pointermove", (event) => {
    if (!drag) {
      surface.hover(event.offsetX, event.offsetY);
      return;
    }
    if (!drag.isMoving && Math.abs(event.offsetX - drag.x) < DRAG_PX) return;
    drag.isMoving = true;
    if (drag.mode === "pan") {
      surface.look(
        panBy(drag.view, ((drag.x - event.offsetX) / surface.width()) * lengthOf(drag.view), surface.bounds),
      );
    } else {
      const to = surface.snapped(event.offsetX, event.offsetY, event.altKey);
      surface.drawing({ from: Math.min(drag.from, to), to: Math.max(drag.from, to) });
    }
  });
  listen("pointerup", (event) => {
    const done = drag;
    drag = undefined;
    if (!done) return;
    if (!done.isMoving) {
      surface.click(event.offsetX, event.offsetY);
      return;
    }
    if (done.mode === "pan") return;
    const to = surface.snapped(event.offsetX, event.offsetY, event.altKey);
    const range = { from: Math.min(done.from, to), to: Math.max(done.from, to) };
    surface.drawing(undefined);
    if (!(range.to > range.from)) return;
    if (done.mode === "zoom") surface.look(range, "push");
    else surface.chose(range);
  });
  listen("pointercancel", () => ((drag = undefined), surface.drawing(undefined)));
  listen("pointerleave", () => surface.leave());
  listen(
    "wheel",
    (event) => {
      const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (event.ctrlKey || event.metaKey || (isRuler && !isSideways)) {
        const notches = -event.deltaY / NOTCH_PX;
        surface.look(
          zoomAbout(surface.view(), timeAt(event.offsetX, surface.view()), NOTCH ** notches, surface.bounds),
        );
      } else if (isSideways) {
        const pixels = event.deltaX === 0 ? event.deltaY : event.deltaX;
        surface.look(panBy(surface.view(), (pixels / surface.width()) * lengthOf(surface.view()), surface.bounds));
      } else return;
      event.preventDefault();
    },
    { passive: false },
  );
}
