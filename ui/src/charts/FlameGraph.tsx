// An icicle: the root on top, callers above callees, as wide as the time they take. A click zooms, a click on the root
// goes back.
import { createEffect, createMemo, createSignal, onCleanup, onMount, Show, type JSX } from "solid-js";
import { figureText } from "../format/number";
import { theme } from "../state/theme";
import { flameBoxes, frameLabel, type FlameBox, type FlameNode } from "./flame";

const ROW_PX = 19;
const LABEL_FROM_PX = 44;
const SMALLEST_PX = 1;

/** What a box is filled with: a color of the page, and how much of it. */
export type Fill = { token: string; strength: number };

export function FlameGraph(props: {
  tree: FlameNode;
  rootLabel: string;
  /** What the picture is, and where the same is written. */
  label: string;
  fill: (node: FlameNode, depth: number) => Fill;
  /** What is known about a node, besides its name. */
  facts: (node: FlameNode) => string;
}): JSX.Element {
  let canvas!: HTMLCanvasElement;
  const [width, setWidth] = createSignal(0);
  const [zoomed, setZoomed] = createSignal<FlameNode[]>([]);
  const [tip, setTip] = createSignal<{ x: number; y: number; box: FlameBox }>();
  createEffect(() => (props.tree, setZoomed([])));
  /** What is above the zoomed node spans the whole width. */
  const boxes = createMemo((): FlameBox[] => {
    const path = zoomed();
    const root = path.at(-1) ?? props.tree;
    const above = (path.length > 0 ? [props.tree, ...path.slice(0, -1)] : []).map((node, depth) => ({
      node,
      depth,
      from: 0,
      to: root.total,
    }));
    const least = (root.total * SMALLEST_PX) / Math.max(1, width());
    return [...above, ...flameBoxes(root, least).map((box) => ({ ...box, depth: box.depth + above.length }))];
  });
  const total = () => (zoomed().at(-1) ?? props.tree).total || 1;
  const height = () => ROW_PX * (1 + boxes().reduce((most, box) => Math.max(most, box.depth), 0));
  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(canvas.clientWidth));
    observer.observe(canvas);
    onCleanup(() => observer.disconnect());
  });
  createEffect(() => {
    theme();
    if (width() > 0) draw();
  });

  function draw(): void {
    const scale = devicePixelRatio;
    canvas.width = Math.round(width() * scale);
    canvas.height = Math.round(height() * scale);
    const context = canvas.getContext("2d")!;
    context.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const token = (name: string) => style.getPropertyValue(name).trim();
    context.font = `11px ${token("--sans")}`;
    context.textBaseline = "middle";
    const [surface, ink] = [token("--surface"), token("--ink")];
    for (const box of boxes()) {
      const [left, right] = [(box.from / total()) * width(), (box.to / total()) * width()];
      const wide = Math.max(1, right - left - 1);
      context.fillStyle = surface;
      context.fillRect(left, box.depth * ROW_PX, wide, ROW_PX - 1);
      const fill = box.depth === 0 ? { token: "ink", strength: 0.1 } : props.fill(box.node, box.depth);
      context.globalAlpha = fill.strength;
      context.fillStyle = token(`--${fill.token}`);
      context.fillRect(left, box.depth * ROW_PX, wide, ROW_PX - 1);
      context.globalAlpha = 1;
      if (wide < LABEL_FROM_PX) continue;
      context.fillStyle = ink;
      context.fillText(label(context, box, wide - 10), left + 5, box.depth * ROW_PX + ROW_PX / 2);
    }
  }

  function label(context: CanvasRenderingContext2D, box: FlameBox, room: number): string {
    const name = box.depth === 0 ? props.rootLabel : frameLabel(box.node.name);
    const whole = `${name} ${figureText("ns", Math.round(box.node.total))}`;
    if (context.measureText(whole).width <= room) return whole;
    const wide = context.measureText(name).width;
    return wide <= room ? name : `${name.slice(0, Math.max(1, Math.floor((name.length * room) / wide) - 1))}…`;
  }

  const boxAt = (event: MouseEvent) => {
    const [time, depth] = [(event.offsetX / width()) * total(), Math.floor(event.offsetY / ROW_PX)];
    return boxes().find((box) => box.depth === depth && time >= box.from && time < box.to);
  };
  const zoom = (event: MouseEvent) => {
    const box = boxAt(event);
    if (!box) return;
    setTip(undefined);
    setZoomed(pathTo(props.tree, box.node) ?? []);
  };
  return (
    <>
      <canvas
        ref={canvas}
        class="flame"
        style={{ height: `${height()}px` }}
        role="img"
        aria-label={props.label}
        onClick={zoom}
        onPointerMove={(event) => {
          const box = boxAt(event);
          setTip(box && { x: event.clientX, y: event.clientY, box });
        }}
        onPointerLeave={() => setTip(undefined)}
      />
      <Show when={tip()}>
        {(tip) => (
          <div
            class="tip"
            style={{ left: `${Math.min(tip().x + 12, window.innerWidth - 440)}px`, top: `${tip().y - 64}px` }}
          >
            <b>{tip().box.node.name}</b>
            <div class="muted">{props.facts(tip().box.node)}</div>
          </div>
        )}
      </Show>
    </>
  );
}

/** The nodes from below the root to a node. */
function pathTo(from: FlameNode, node: FlameNode): FlameNode[] | undefined {
  if (from === node) return [];
  for (const child of from.children.values()) {
    const path = pathTo(child, node);
    if (path) return [child, ...path];
  }
  return undefined;
}
