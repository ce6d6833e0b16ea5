// Memory by stack over time: the chart, and a legend with what each stack holds at the peak or at a moment.
import { createMemo, createSignal, For, Show, type JSX } from "solid-js";
import { cssColor, ownerPaints, paintColor } from "../charts/owner_colors";
import { bandsOf, levelsOf } from "../charts/stacked";
import { momentText, StackedChart } from "../charts/StackedChart";
import { stackLines } from "../format/code_lines";
import { counted } from "../format/names";
import { figureText, formatOf, show, symbolOf } from "../format/number";
import { Ends } from "../report/cells";
import { Frames } from "../report/Frames";
import type { DeviceMemory, MemoryTimeline } from "../server/types";
import { theme } from "../state/theme";
import { categoryLabel } from "./memory_snapshot";

const LEAST_HEIGHT_PX = 280;
const ROW_PX = 26;

export function MemoryStacks(props: {
  device: DeviceMemory;
  timeline: MemoryTimeline;
  /** The stack that is selected. */
  owner: number | undefined;
  choose: (owner: number | undefined) => void;
}): JSX.Element {
  const [pointed, setPointed] = createSignal<number>();
  const [kept, setKept] = createSignal<number>();
  const [choosesRest, setChoosesRest] = createSignal(false);
  const bands = createMemo(() => bandsOf(props.timeline));
  const paints = createMemo(() => ownerPaints(props.device));
  const place = () => Math.min(pointed() ?? kept() ?? props.timeline.peak, props.timeline.at.length - 1);
  const isAtPeak = () => place() === props.timeline.peak;
  const chosen = () => {
    const found = bands().findIndex((band) => (choosesRest() ? band.owner === null : band.owner === props.owner));
    return found < 0 || (!choosesRest() && props.owner === undefined) ? undefined : found;
  };
  const choose = (band: number | undefined) => {
    const owner = band === undefined ? undefined : (bands()[band]?.owner ?? null);
    setChoosesRest(owner === null);
    props.choose(owner ?? undefined);
  };
  const ownerOf = (band: number) => {
    const owner = bands()[band]?.owner ?? null;
    return owner === null ? undefined : props.device.owners[owner];
  };
  const names = createMemo(() =>
    stackLines(bands().map((_, band) => ownerOf(band) ?? { line: "Other stacks", frames: null })),
  );
  const fills = (token: (name: string) => string) =>
    bands().map(({ owner }) =>
      owner === null
        ? { color: token("--other"), isHatched: true }
        : { color: cssColor(paintColor(paints()[owner]!, token)), isHatched: false },
    );
  const colors = createMemo(() => {
    theme();
    const style = getComputedStyle(document.documentElement);
    return fills((name) => style.getPropertyValue(name).trim());
  });
  const active = () => props.timeline.active_bytes[place()] ?? 0;
  const format = createMemo(() => formatOf("bytes", props.timeline.active_bytes));
  const highest = () => props.timeline.reserved_bytes.reduce((most, bytes) => Math.max(most, bytes), 0);
  const share = (bytes: number) => show({ kind: "percent" }, active() > 0 ? Math.max(0, bytes) / active() : null);
  return (
    <section class="panel">
      <header>
        <h2>Memory by stack</h2>
        <Show
          when={levelsOf(props.timeline).showsReserved}
          fallback={
            <span class="what">
              <Show when={highest() > 0}>{figureText("bytes", highest())} reserved, above this scale</Show>
            </span>
          }
        >
          <span class="what curve-key reserved">
            <i class="dashed" />
            reserved
          </span>
        </Show>
        <Show when={props.timeline.is_relative}>
          <span class="what">growth since the start of the history</span>
        </Show>
        <span class="more">click a stack for its frames and blocks</span>
      </header>
      <div class="stack-panel">
        <StackedChart
          timeline={props.timeline}
          bands={bands()}
          fills={fills}
          chosen={chosen()}
          place={place()}
          height={Math.max(LEAST_HEIGHT_PX, (bands().length + 2) * ROW_PX)}
          names={names()}
          move={setPointed}
          keep={setKept}
          choose={choose}
        />
        <table class="legend stack-legend">
          <thead>
            <tr>
              <th>Stack</th>
              <th>Category</th>
              <th class="num" aria-live="polite">
                {isAtPeak() ? "At the peak" : sentence(momentText(props.timeline, place()))}, {symbolOf(format())}
              </th>
              <th class="num">Share</th>
            </tr>
          </thead>
          <tbody>
            <For each={bands()}>
              {(band, at) => (
                <tr classList={{ chosen: chosen() === at() }}>
                  <td class="wide">
                    <button
                      class="owner"
                      aria-pressed={chosen() === at()}
                      onClick={() => choose(chosen() === at() ? undefined : at())}
                    >
                      <i
                        class="sw"
                        classList={{ hatched: band.owner === null }}
                        style={{ background: band.owner === null ? undefined : colors()[at()]?.color }}
                      />
                      <Show when={ownerOf(at())} fallback={<span class="muted">Other stacks</span>}>
                        {(owner) => <Ends text={names()[at()]!} whole={owner().line} />}
                      </Show>
                    </button>
                  </td>
                  <td class="muted">{categoryLabel(ownerOf(at())?.category ?? "")}</td>
                  <td class="num">{show(format(), band.bytes[place()] ?? 0)}</td>
                  <td class="num muted">{share(band.bytes[place()] ?? 0)}</td>
                </tr>
              )}
            </For>
            <tr class="whole">
              <td>Active</td>
              <td />
              <td class="num">{show(format(), active())}</td>
              <td class="num" />
            </tr>
          </tbody>
        </table>
      </div>
      <Show when={props.owner !== undefined && props.device.owners[props.owner]}>
        {(owner) => (
          <div class="stack-details">
            <b class="mono">{owner().line}</b>
            <p class="muted">
              {categoryLabel(owner().category)}, estimated from the stack. {blocksOf(props.device, props.owner!)}
            </p>
            <Frames frames={owner().frames} />
          </div>
        )}
      </Show>
    </section>
  );
}

/** What of a stack is still there at the end. */
function blocksOf(device: DeviceMemory, owner: number): string {
  const blocks = device.segments.flatMap((segment) => segment.blocks.filter((block) => block.owner === owner));
  if (device.segments.length === 0) return "";
  if (blocks.length === 0) return "No block of it is in use at the end.";
  const bytes = blocks.reduce((sum, block) => sum + block.size_bytes, 0);
  return `${counted(blocks.length, "blocks")} with ${figureText("bytes", bytes)} in use at the end, highlighted below.`;
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
