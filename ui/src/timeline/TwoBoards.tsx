// The timelines of two runs under each other: one axis, so that they move and zoom together.
import { createEffect, createMemo, createSignal, on, onCleanup, onMount, Show, type JSX } from "solid-js";
import { isTyping } from "../shell/keys";
import { tell } from "../shell/Toast";
import { choice, choose, goTo } from "../state/route";
import { theme } from "../state/theme";
import "../look/timeline.css";
import type { Curves } from "./ask_curves";
import { AsTable } from "./AsTable";
import { followHand, type Surface } from "./gestures";
import { Headers } from "./Headers";
import { entryUnder, type Hit } from "./hit";
import { createLaneShapes } from "./lane_shapes";
import { LaneStore } from "./lane_store";
import { drawOverlay, prepare, visible, type Picture, type Spot } from "./overlay";
import { readPalette, type Palette } from "./palette";
import { layOut, rowAt } from "./rows";
import { drawRuler, drawSteps, RULER_PX } from "./ruler";
import { buildScene, canShow, type Scene } from "./scene";
import { SpanCanvas } from "./span_canvas";
import { tipOf, TipView, type Tip } from "./Tip";
import { twoRuns, type RunOnAxis } from "./two_runs";
import { clamp, fitted, lengthOf, panBy, parseView, writeView, zoomAbout, type Range } from "./view";

const HIT_PX = 3;
const LANE_PX = 17;
const HIGHEST_PX = 520;
const REBUILD_MS = 60;
const REST_MS = 100;
const ZOOM = 1.5;
const PAN = 0.2;

/** Curves stay on the timeline of each run. */
const NO_CURVES: Curves = { all: () => [], countersLeftOut: () => 0, fine: () => undefined, changed: () => undefined };

export default function TwoBoards(props: {
  sides: RunOnAxis[];
  /** What is shown at first: the longer of the two steps. */
  step: Range;
}): JSX.Element {
  let body!: HTMLDivElement;
  let spans!: HTMLCanvasElement;
  let above!: HTMLCanvasElement;
  let head!: HTMLCanvasElement;
  const { groups, homes, runs, steps, bounds, folded } = twoRuns(props.sides);
  const wantedView = () => {
    const asked = parseView(choice("view"));
    return asked ? clamp(asked, bounds) : fitted(props.step, bounds);
  };
  const [view, setView] = createSignal(wantedView());
  const [size, setSize] = createSignal({ width: 1, height: 1 });
  const [scroll, setScroll] = createSignal(0);
  const [toggled, setToggled] = createSignal<ReadonlySet<string>>(new Set(folded));
  const [drawing, setDrawing] = createSignal<Range>();
  const [hovered, setHovered] = createSignal<Spot>();
  const [tip, setTip] = createSignal<Tip>();
  const [loaded, setLoaded] = createSignal(0);

  let written = choice("view");
  let timer = 0;
  onCleanup(() => clearTimeout(timer));
  const look = (next: Range, history: "push" | "replace" = "replace") => {
    setView(clamp(next, bounds));
    clearTimeout(timer);
    const write = () => choose({ view: (written = writeView(view())) }, history);
    if (history === "push") write();
    else timer = window.setTimeout(write, REST_MS);
  };
  createEffect(
    on(
      () => choice("view"),
      (asked) => {
        if (asked !== written) setView(wantedView());
        written = asked;
      },
      { defer: true },
    ),
  );

  const shapes = createLaneShapes();
  const store = new LaneStore(
    (track) => homes[track]!,
    (track) => {
      isSceneStale = true;
      shapes.note(track, store.lanes(track));
      setLoaded((times) => times + 1);
    },
    (error) => tell(error instanceof Error ? error.message : String(error)),
  );
  onCleanup(() => store.close());
  const layout = createMemo(() =>
    layOut(props.sides[0]!.outline, {
      ...shapes,
      toggled: toggled(),
      pinned: [],
      laneHeight: LANE_PX,
      room: 0,
      roleOf: () => undefined,
      curves: [],
      countersLeftOut: 0,
      deviceName: () => "",
      ranks: groups,
    }),
  );
  const toggleFold = (key: string) => {
    const next = new Set(toggled());
    if (!next.delete(key)) next.add(key);
    setToggled(next);
  };

  let spanCanvas!: SpanCanvas;
  let palette: Palette;
  let scene: Scene | undefined;
  let isSceneStale = true;
  let builtAt = -Infinity;
  let frame = 0;
  const invalidate = () => (frame ||= requestAnimationFrame(draw));
  onCleanup(() => cancelAnimationFrame(frame));
  const picture = (): Omit<Picture, "scene"> => ({
    ...size(),
    scroll: scroll(),
    view: view(),
    rows: layout().rows,
    store,
    palette,
    selected: undefined,
    hovered: hovered(),
    range: drawing(),
    marks: [],
    matches: [],
    zero: 0,
    arrows: [],
    matched: [],
    waitOf: undefined,
    path: [],
  });

  function draw(): void {
    frame = 0;
    const shown = picture();
    const isTooEarly = performance.now() - builtAt < REBUILD_MS;
    if (!scene || !canShow(scene, shown) || (isSceneStale && !isTooEarly)) {
      scene = buildScene(shown.rows, store, NO_CURVES, palette, "class", shown, undefined, scene);
      isSceneStale = false;
      builtAt = performance.now();
    } else if (isSceneStale) invalidate();
    const now: Picture = { ...shown, scene };
    spanCanvas.paint(now);
    const context = prepare(above, now.width, now.height);
    drawOverlay(context, now);
    const x = (time: number) => ((time - now.view.from) / lengthOf(now.view)) * now.width;
    // The steps of a run are in the row that names it.
    visible(now)
      .filter((row) => row.kind === "group")
      .forEach((row) => {
        const place = groups.findIndex((group) => row.key === `r:${group.rank}`);
        drawSteps(context, now.width, steps[place] ?? [], palette, x, row.y - now.scroll);
      });
    drawRuler(prepare(head, now.width, RULER_PX), now.width, now.view, [], palette, now.range, []);
    // For tests: what is on screen, once there is something.
    if (scene.rectangles.size > 0) body.dataset.drawn = writeView(now.view);
  }

  onMount(() => {
    spanCanvas = new SpanCanvas(spans);
    palette = readPalette(body);
    const observer = new ResizeObserver(() =>
      setSize({ width: Math.max(1, spans.clientWidth), height: Math.max(1, body.clientHeight) }),
    );
    observer.observe(body);
    const stop = new AbortController();
    followHand(above, false, surface, stop.signal);
    followHand(head, true, { ...surface, click: () => undefined, hover: () => undefined }, stop.signal);
    onCleanup(() => (observer.disconnect(), stop.abort()));
    createEffect(
      on([theme, layout], () => {
        palette = readPalette(body);
        isSceneStale = true;
        invalidate();
      }),
    );
    createEffect(() => {
      picture();
      loaded();
      invalidate();
    });
    createEffect(() => {
      const seen = visible({ rows: layout().rows, scroll: scroll(), height: size().height });
      const tracks = seen.flatMap((row) => (row.kind === "track" ? [row.track.track] : []));
      if (size().width > 1) store.look(tracks, view(), Math.round(size().width));
    });
  });

  createEffect(on([view, layout, scroll], () => (setTip(undefined), setHovered(undefined)), { defer: true }));

  const timeAt = (x: number) => view().from + (x / size().width) * lengthOf(view());
  function hit(x: number, y: number): Hit | undefined {
    const row = rowAt(layout().rows, y + scroll());
    const slack = (HIT_PX * lengthOf(view())) / size().width;
    return row?.kind === "track" ? entryUnder(row, y + scroll(), store, timeAt(x), slack) : undefined;
  }

  const surface: Surface = {
    view,
    width: () => size().width,
    bounds,
    look,
    snapped: (x) => timeAt(x),
    click: (x, y) => {
      const found = hit(x, y);
      if (!found) return;
      const [start, dur] = [found.lanes.start[found.entry]!, found.lanes.dur[found.entry]!];
      if (found.lanes.count[found.entry]! > 1) look(fitted({ from: start, to: start + dur }, bounds, 4), "push");
      else open(found.lanes.spanId[found.entry]!, found.track);
    },
    hover: (x, y) => {
      const found = hit(x, y);
      setHovered(found && spotAt(found));
      const box = above.getBoundingClientRect();
      setTip(found && tipOf(found.lanes, found.entry, box.left + x, box.top + y, [runs[found.track]!.title]));
    },
    leave: () => (setHovered(undefined), setTip(undefined)),
    drawing: (range) => (setTip(undefined), setDrawing(range)),
    chose: (range) => look(range, "push"),
  };

  /** Shows a span where its run has all of its tracks, at the same place on screen. */
  function open(spanId: number, track: number): void {
    const { source, outline, zero } = runs[track]!;
    const moved = zero - outline.zero_ns;
    goTo("timeline", {
      run: source.run,
      rank: String(source.rank),
      window: String(source.window),
      steps: undefined,
      from: undefined,
      to: undefined,
      sel: String(spanId),
      view: writeView({ from: view().from + moved, to: view().to + moved }),
    });
  }

  const zoom = (factor: number) => look(zoomAbout(view(), (view().from + view().to) / 2, factor, bounds));
  const pan = (share: number) => look(panBy(view(), share * lengthOf(view()), bounds));
  const fit = () => look(fitted(props.step, bounds), "push");
  const KEYS: Record<string, () => void> = {
    w: () => zoom(ZOOM),
    s: () => zoom(1 / ZOOM),
    a: () => pan(-PAN),
    d: () => pan(PAN),
    f: fit,
    0: () => look(bounds, "push"),
  };
  const onKey = (event: KeyboardEvent) => {
    const act = isTyping(event) || event.ctrlKey || event.metaKey || event.altKey ? undefined : KEYS[event.key];
    if (!act) return;
    act();
    event.preventDefault();
  };

  return (
    <div class="timeline two-boards">
      <div class="board-head">
        <div class="corner">
          <span>Time from the step</span>
        </div>
        <canvas ref={head} role="img" aria-label="Ruler; drag to pan" />
      </div>
      <div
        class="board"
        ref={body}
        style={{ height: `${Math.min(HIGHEST_PX, layout().height)}px` }}
        data-view={writeView(view())}
        onScroll={() => setScroll(body.scrollTop)}
        onKeyDown={onKey}
        tabindex="0"
        role="region"
        aria-label="Timelines of A and B"
      >
        <div class="board-inner" style={{ height: `${layout().height}px` }}>
          <Headers rows={layout().rows} overlapsOf={() => undefined} actions={{ toggleFold }} />
          <div class="board-canvas" style={{ height: `${size().height}px` }}>
            <canvas ref={spans} aria-hidden="true" />
            <canvas ref={above} role="img" aria-label="Spans of both runs; the button “Show as table” lists them" />
          </div>
        </div>
      </div>
      <div class="board-tools">
        <button class="btn" aria-label="Zoom in" title="Zoom in (w)" onClick={() => zoom(ZOOM)}>
          +
        </button>
        <button class="btn" aria-label="Zoom out" title="Zoom out (s)" onClick={() => zoom(1 / ZOOM)}>
          −
        </button>
        <button class="btn" title="Fit the step (f)" onClick={fit}>
          Fit step
        </button>
        <span class="hints">Drag to zoom in. Drag the ruler to pan. Click a span to open it in its run.</span>
      </div>
      <AsTable view={view()} rows={layout().rows} store={store} select={open} />
      <Show when={tip()}>{(tip) => <TipView tip={tip()} />}</Show>
    </div>
  );
}

function spotAt({ lanes, entry, track }: Hit): Spot {
  return {
    track,
    depth: lanes.depth[entry]!,
    start: lanes.start[entry]!,
    dur: lanes.dur[entry]!,
    spanId: lanes.spanId[entry]!,
  };
}
