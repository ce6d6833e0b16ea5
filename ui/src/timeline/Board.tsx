// The lanes themselves: canvases that are drawn when something has changed, and the hand and keys that change it.
import { createEffect, createMemo, createSignal, on, onCleanup, onMount, Show, type JSX } from "solid-js";
import { exactTime } from "../format/number";
import type { SourceKey } from "../server/questions";
import type { SpanRow, TimelineOutline } from "../server/types";
import { isTyping } from "../shell/keys";
import { tell } from "../shell/Toast";
import { choice, choose } from "../state/route";
import { theme } from "../state/theme";
import { createCurves } from "./ask_curves";
import type { SeveralRanks } from "./ask_ranks";
import { AsTable } from "./AsTable";
import { createRows } from "./create_rows";
import { followHand, type Surface } from "./gestures";
import { Headers } from "./Headers";
import { timelineKey } from "./keys";
import { createLaneShapes } from "./lane_shapes";
import { LaneStore } from "./lane_store";
import { entryUnder, type Hit } from "./hit";
import { entryAt } from "./lanes";
import { drawOverlay, prepare, trackRowOf, visible, type Picture, type Spot } from "./overlay";
import { readPalette, type Palette } from "./palette";
import { RangePane } from "./RangePane";
import { pathMarks } from "./path";
import { rankSpans } from "./rank_spans";
import { laneAt, rowAt } from "./rows";
import { drawRuler, RULER_PX, STEPS_PX } from "./ruler";
import { buildScene, canShow, type ColorBy, type Scene } from "./scene";
import { SpanCanvas } from "./span_canvas";
import { SpanPane } from "./SpanPane";
import { arrowsOf, spotOf, spotOfMatch, viewOn, type TimelineState } from "./state";
import { tipOf, TipView, type Tip } from "./Tip";
import { createTrackFacts } from "./track_facts";
import { unfold } from "./unfold";
import { fitted, lengthOf, writeView, type Range } from "./view";

const HIT_PX = 3;
const SNAP_PX = 6;
/** What has become finer is drawn at most so often; what has moved is drawn in every frame. */
const REBUILD_MS = 60;

export function Board(props: {
  source: SourceKey;
  outline: TimelineOutline;
  state: TimelineState;
  colorBy: ColorBy;
  range: Range | undefined;
  /** Other ranks beside the chosen one. */
  several: SeveralRanks | undefined;
}): JSX.Element {
  let body!: HTMLDivElement;
  let spans!: HTMLCanvasElement;
  let above!: HTMLCanvasElement;
  let head!: HTMLCanvasElement;
  const { state, outline, source, several } = props;
  const [size, setSize] = createSignal({ width: 1, height: 1 });
  /** Pixels for rows: a pane below that opens takes some away, but must not move them. */
  const [room, setRoom] = createSignal(0);
  let windowHeight = 0;
  const [scroll, setScroll] = createSignal(0);
  const [drawing, setDrawing] = createSignal<Range>();
  const [hovered, setHovered] = createSignal<Spot>();
  const [tip, setTip] = createSignal<Tip>();
  const [loaded, setLoaded] = createSignal(0);
  let cursor: number | undefined;
  let cursorTrack: number | undefined;

  const ranks = rankSpans(source, outline, several);
  const shapes = createLaneShapes();
  const store = new LaneStore(
    ranks.homeOf,
    (track) => {
      isSceneStale = true;
      shapes.note(track, store.lanes(track));
      setLoaded((times) => times + 1);
    },
    (error) => tell(error instanceof Error ? error.message : String(error)),
  );
  onCleanup(() => store.close());

  const curves = createCurves(source, outline, state.bounds, state.shownView, () => !several && loaded() > 0);
  const facts = createTrackFacts(source, () => loaded() > 0);
  const { isPathShown } = state;
  const rowSource = { outline, ranks: several?.ranks, room, isPathShown, curves, roleOf: facts.roleOf, ...shapes };
  const { layout, togglePin, toggleFold } = createRows(rowSource);
  const range = () => drawing() ?? props.range;
  const selected = createMemo((): Spot | undefined => {
    loaded();
    const [details, walked] = [state.details(), state.search.walked()?.match];
    if (walked && Number(details?.span.span_id) !== walked.span_id) return spotOfMatch(walked, outline, store);
    return details && spotOf(details.span, outline, store);
  });
  const arrows = createMemo(() => {
    loaded();
    return arrowsOf(state.details(), state.arrowKind(), outline, store);
  });

  /** The same collective on all ranks as the one under the cursor, else as the selected one. */
  const matched = createMemo(() => (loaded(), ranks.sameAs([hovered(), selected()], store)));

  const path = createMemo(() => {
    loaded();
    return isPathShown() ? pathMarks(store, layout().rows, state.shownView()) : [];
  });

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
    view: state.view(),
    rows: layout().rows,
    store,
    palette,
    selected: selected(),
    hovered: hovered(),
    range: range(),
    marks: state.marks(),
    matches: state.search.marks(),
    zero: outline.zero_ns,
    arrows: arrows(),
    matched: matched(),
    waitOf: ranks.waitOf,
    path: path(),
  });

  function draw(): void {
    frame = 0;
    const shown = picture();
    const isUsable = scene !== undefined && canShow(scene, shown);
    // The answers of several tracks come one by one, and all of them are drawn at once.
    const isTooEarly = performance.now() - builtAt < REBUILD_MS;
    if (!scene || !isUsable || (isSceneStale && !isTooEarly)) {
      scene = buildScene(shown.rows, store, curves, palette, props.colorBy, shown, ranks.waitOf, scene);
      isSceneStale = false;
      builtAt = performance.now();
    } else if (isSceneStale) invalidate();
    const now: Picture = { ...shown, scene };
    spanCanvas.paint(now);
    drawOverlay(prepare(above, now.width, now.height), now);
    drawRuler(prepare(head, now.width, RULER_PX + STEPS_PX), now.width, now.view, state.steps, palette, now.range, now.marks);
    // For tests and the bench: what is on screen, once there is something.
    if (scene.rectangles.size > 0) body.dataset.drawn = writeView(now.view);
    if (several) body.dataset.matched = String(now.matched.length);
  }

  onMount(() => {
    spanCanvas = new SpanCanvas(spans);
    palette = readPalette(body);
    const observer = new ResizeObserver(() => {
      setSize({ width: Math.max(1, spans.clientWidth), height: Math.max(1, body.clientHeight) });
      setRoom(windowHeight === innerHeight ? Math.max(room(), body.clientHeight) : body.clientHeight);
      windowHeight = innerHeight;
    });
    observer.observe(body);
    const stop = new AbortController();
    followHand(above, false, surface, stop.signal);
    followHand(head, true, { ...surface, click: clickRuler, hover: () => undefined }, stop.signal);
    addEventListener("keydown", onKey, { signal: stop.signal });
    onCleanup(() => (observer.disconnect(), stop.abort()));
    createEffect(
      on([theme, () => props.colorBy, layout, curves.changed], () => {
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
      const { rows } = layout();
      const seen = visible({ rows, scroll: scroll() - 200, height: size().height + 400 });
      const tracks = seen.flatMap((row) =>
        row.kind === "track" ? [row.track.track] : row.kind === "busy" ? row.tracks.map((track) => track.track) : [],
      );
      if (size().width > 1) store.look([...new Set(tracks)], state.shownView(), Math.round(size().width));
    });
  });

  // A selection that comes with the address or by a key is brought on screen.
  createEffect(
    on([() => state.selectedId(), () => state.details()], ([id, details]) => {
      if (id === undefined || !details || Number(details.span.span_id) !== id) return;
      const spot = spotOf(details.span, outline, store);
      const next = viewOn(state.view(), { from: spot.start, to: spot.start + spot.dur }, state.bounds);
      if (next !== state.view()) state.look(next);
      unfold(() => layout().rows, outline.tracks.find((track) => track.track === spot.track), spot.depth, toggleFold);
      const row = trackRowOf(layout().rows, spot.track);
      if (row && (row.y < scroll() || row.y + row.height > scroll() + size().height))
        body.scrollTop = Math.max(0, row.y - 40);
    }),
  );

  // What the hand pointed at is gone when something else moved the picture under it.
  createEffect(
    on(
      [state.view, layout, scroll, state.selectedId, () => choice("q")],
      () => (setTip(undefined), setHovered(undefined)),
      { defer: true },
    ),
  );

  const timeAt = (x: number) => state.view().from + (x / size().width) * lengthOf(state.view());
  const pixelNs = () => lengthOf(state.view()) / size().width;

  /** The entry under a pixel. */
  function hit(x: number, y: number): Hit | undefined {
    const row = rowAt(layout().rows, y + scroll());
    if (row?.kind !== "track") return undefined;
    cursorTrack = row.track.track;
    return entryUnder(row, y + scroll(), store, timeAt(x), HIT_PX * pixelNs());
  }

  function spotAt(found: Hit): Spot {
    const { lanes, entry, track } = found;
    return {
      track,
      depth: lanes.depth[entry]!,
      start: lanes.start[entry]!,
      dur: lanes.dur[entry]!,
      spanId: lanes.spanId[entry]!,
    };
  }

  const surface: Surface = {
    view: state.view,
    width: () => size().width,
    bounds: state.bounds,
    look: state.look,
    snapped: (x, y, isFree) => {
      const time = timeAt(x);
      const row = rowAt(layout().rows, y + scroll());
      const lanes = row?.kind === "track" ? store.lanes(row.track.track).current : undefined;
      const depth = row?.kind === "track" ? laneAt(row, y + scroll()) : -1;
      const entry = lanes && depth >= 0 && !isFree ? entryAt(lanes, depth, time, SNAP_PX * pixelNs()) : -1;
      // A hand is no finer than a pixel, so neither is the time it points at.
      const step = 10 ** Math.max(0, Math.floor(Math.log10(pixelNs())));
      const free = Math.round(time / step) * step;
      if (!lanes || entry < 0 || lanes.count[entry]! > 1) return free;
      const edges = [lanes.start[entry]!, lanes.start[entry]! + lanes.dur[entry]!];
      const nearest = Math.abs(edges[0]! - time) < Math.abs(edges[1]! - time) ? edges[0]! : edges[1]!;
      return Math.abs(nearest - time) <= SNAP_PX * pixelNs() ? nearest : free;
    },
    click: (x, y) => {
      const found = hit(x, y);
      if (!found) choose({ sel: undefined, from: undefined, to: undefined });
      else if (found.lanes.count[found.entry]! > 1) zoomInto(spotAt(found));
      else selectOn(found.track, found.lanes.spanId[found.entry]!);
    },
    hover: (x, y) => {
      cursor = timeAt(x);
      const found = hit(x, y);
      setHovered(found && spotAt(found));
      const box = above.getBoundingClientRect();
      const more = found ? ranks.linesOf(found.track, found.lanes.spanId[found.entry]!) : [];
      setTip(found && tipOf(found.lanes, found.entry, box.left + x, box.top + y, more));
    },
    leave: () => (setHovered(undefined), setTip(undefined)),
    drawing: (range) => (setTip(undefined), setDrawing(range)),
    chose: (chosen) =>
      choose({ from: String(Math.round(chosen.from)), to: String(Math.round(chosen.to)), sel: undefined }),
  };

  const selectOn = (track: number, spanId: number) => choose(ranks.selecting(track, spanId, state.view()));

  /** A bucket opens up into its events. */
  function zoomInto(spot: Spot): void {
    state.look(fitted({ from: spot.start, to: spot.start + spot.dur }, state.bounds, 4), "push");
  }

  function clickRuler(x: number, y: number): void {
    const step = y > RULER_PX ? state.steps.findIndex((step) => timeAt(x) >= step.from && timeAt(x) < step.to) : -1;
    if (step >= 0) choose({ steps: String(outline.steps[step]!.number), view: undefined });
  }

  const selectId = (id: number) => choose({ sel: String(id), from: undefined, to: undefined });
  const select = (row: SpanRow) => selectId(Number(row.span_id));
  const fit = () => {
    const [spot, chosen] = [selected(), range()];
    if (chosen) state.look(fitted(chosen, state.bounds), "push");
    else if (spot) state.look(fitted({ from: spot.start, to: spot.start + spot.dur }, state.bounds, 0.5), "push");
  };

  /** Keeps what is chosen as a mark, or takes the mark away. */
  const mark = () => {
    const spot = selected();
    const chosen = props.range ?? (spot && { from: spot.start, to: spot.start + spot.dur });
    if (chosen) state.toggleMark(chosen);
  };

  function onKey(event: KeyboardEvent): void {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    // Enter on a button presses it.
    if (event.key === "Enter" && event.target instanceof Element && event.target.closest("button, a")) return;
    const isHandled = timelineKey(event, {
      state,
      cursor: () => cursor,
      selected,
      store,
      fit,
      mark,
      pin: () => cursorTrack !== undefined && !several && togglePin(cursorTrack),
      path: () => !several && state.togglePath(),
      sameName: state.search.goToSameName,
      match: state.search.goToMatch,
      select: selectId,
    });
    if (isHandled) event.preventDefault();
  }

  return (
    <>
      <div class="board-head">
        <div class="corner">
          <span>Time from first step</span>
          <span>Steps</span>
        </div>
        <canvas ref={head} role="img" aria-label="Ruler with the steps; drag to pan, click a step to select it" />
      </div>
      <div
        class="board"
        ref={body}
        data-view={writeView(state.view())}
        onScroll={() => setScroll(body.scrollTop)}
        tabindex="0"
        role="region"
        aria-label="Tracks"
      >
        <div class="board-inner" style={{ height: `${layout().height}px` }}>
          <Headers
            rows={layout().rows}
            overlapsOf={facts.overlapsOf}
            actions={{ togglePin: several ? undefined : togglePin, toggleFold }}
          />
          <div class="board-canvas" style={{ height: `${size().height}px` }}>
            <canvas ref={spans} aria-hidden="true" />
            <canvas
              ref={above}
              role="img"
              aria-label="Spans of threads and streams; the button “Show as table” lists them"
            />
          </div>
        </div>
      </div>
      <AsTable
        view={state.view()}
        rows={layout().rows}
        store={store}
        select={(id, track) => selectOn(track, id)}
      />
      <Show when={range()}>
        {(range) => (
          <Show when={props.range}>
            <RangePane
              range={range()}
              source={source}
              outline={outline}
              selected={state.details()?.span}
              actions={{ fit, mark, select: selectId }}
            />
          </Show>
        )}
      </Show>
      <Show when={!props.range && (state.details() ?? state.formerDetails())}>
        {(details) => (
          <div class="answer" classList={{ former: state.details() === undefined }}>
            <SpanPane
              details={details()}
              outline={outline}
              actions={{
                select,
                next: () => state.search.goToSameName(1),
                mark: () => choose({ q: String(details().span.name) }),
              }}
            />
          </div>
        )}
      </Show>
      <div class="hidden-text" role="status">
        {state.details()
          ? `${String(state.details()?.span.name)}, ${exactTime(Number(state.details()?.span.dur_ns))}`
          : ""}
      </div>
      <Show when={tip()}>{(tip) => <TipView tip={tip()} />}</Show>
    </>
  );
}
