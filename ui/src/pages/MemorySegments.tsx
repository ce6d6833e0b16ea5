// The segments of a device: a picture to scale with a legend that adds up to what is reserved, or a table.
import { createMemo, createSignal, For, Show, type JSX } from "solid-js";
import { cssColor, hueOf, paintColor } from "../charts/owner_colors";
import { cachedBytes, stuckBytes, type BlockPlace } from "../charts/segment_map";
import { SegmentChart } from "../charts/SegmentChart";
import { counted } from "../format/names";
import { figureText, formatOf, show, symbolOf } from "../format/number";
import { Frames } from "../report/Frames";
import { SmallTable } from "../report/parts";
import { Segments } from "../report/Segments";
import type { Column, DeviceMemory, SegmentMap, TablePart } from "../server/types";
import { choice, choose } from "../state/route";
import { theme } from "../state/theme";
import { categoryLabel, hexAddress, usedByCategory } from "./memory_snapshot";

const VIEWS: [string, string][] = [
  ["1", "fit"],
  ["4", "4×"],
  ["16", "16×"],
  ["64", "64×"],
  ["table", "table"],
];
const MOST_ROWS = 500;

export function MemorySegments(props: {
  device: DeviceMemory;
  /** The stack whose blocks stand out. */
  owner: number | undefined;
  chosen: BlockPlace | undefined;
  choose: (place: BlockPlace | undefined) => void;
}): JSX.Element {
  const [pointed, setPointed] = createSignal<BlockPlace>();
  const view = () => VIEWS.find(([value]) => value === choice("view"))?.[0] ?? "1";
  const looked = () => pointed() ?? props.chosen;
  // A stack without blocks would leave nothing that stands out.
  const owner = createMemo(() => {
    const { segments } = props.device;
    const isThere = segments.some((segment) => segment.blocks.some((block) => block.owner === props.owner));
    return props.owner !== undefined && isThere ? props.owner : undefined;
  });
  return (
    <section class="panel">
      <header>
        <h2>Segments</h2>
        <span class="what">
          at the end, {view() === "table" && props.device.segments.length > MOST_ROWS ? `the ${MOST_ROWS} largest` : "largest first"}
          {props.device.segments_left_out > 0
            ? `; ${counted(props.device.segments_left_out, "smaller segments")} not shown`
            : ""}
        </span>
        <span class="more">
          <Segments
            label="Scale"
            options={VIEWS}
            value={view()}
            choose={(value) => choose({ view: value === "1" ? undefined : value })}
          />
        </span>
      </header>
      <Show
        when={view() !== "table"}
        fallback={
          <div class="scrolled tall" role="region" tabindex="0" aria-label="Segments">
            <SmallTable table={segmentTable(props.device.segments)} missing={[]} most={MOST_ROWS} />
          </div>
        }
      >
        <div class="segment-panel">
          <SegmentChart
            device={props.device}
            magnified={Number(view())}
            owner={owner()}
            chosen={props.chosen}
            choose={props.choose}
            point={setPointed}
          />
          <div class="beside-map">
            <Show when={looked()} fallback={<Legend device={props.device} />}>
              {(place) => <BlockDetails device={props.device} place={place()} />}
            </Show>
            <div class="hidden-text" role="status">
              {props.chosen ? said(props.device, props.chosen) : ""}
            </div>
          </div>
        </div>
      </Show>
    </section>
  );
}

/** Everything that is reserved: blocks in use by category, then what is free and why it is still there. */
function Legend(props: { device: DeviceMemory }): JSX.Element {
  const sum = (of: (segment: SegmentMap) => number) =>
    props.device.segments.reduce((total, segment) => total + of(segment), 0);
  const colorOf = (category: string) => {
    theme();
    const style = getComputedStyle(document.documentElement);
    const token = (name: string) => style.getPropertyValue(name).trim();
    return cssColor(paintColor({ hue: hueOf(category), shade: 0 }, token));
  };
  const rows = createMemo(() =>
    [
      ...usedByCategory(props.device).map(([category, bytes]) => ({
        name: categoryLabel(category),
        bytes,
        color: colorOf(category),
        mark: "",
        title: "in use",
      })),
      { name: "Pending free", bytes: sum((segment) => segment.pending_bytes), color: undefined, mark: "hatched", title: "freed, but still used by another stream" },
      { name: "△ Stuck", bytes: sum(stuckBytes), color: undefined, mark: "stuck", title: "free, but its segment also holds blocks in use" },
      { name: "Cached", bytes: sum(cachedBytes), color: undefined, mark: "cached", title: "free segments; torch.cuda.empty_cache() returns them" },
    ].filter((row) => row.bytes > 0),
  );
  const reserved = createMemo(() => sum((segment) => segment.total_bytes));
  const format = createMemo(() => formatOf("bytes", [reserved()]));
  return (
    <>
      <table class="legend">
        <thead>
          <tr>
            <th>Memory</th>
            <th class="num">At the end, {symbolOf(format())}</th>
            <th class="num">Share</th>
          </tr>
        </thead>
        <tbody>
          <For each={rows()}>
            {(row) => (
              <tr title={row.title}>
                <td>
                  <span class="severity">
                    <i class={`sw ${row.mark}`} style={{ background: row.color }} />
                    {row.name}
                  </span>
                </td>
                <td class="num">{show(format(), row.bytes)}</td>
                <td class="num muted">{show({ kind: "percent" }, row.bytes / (reserved() || 1))}</td>
              </tr>
            )}
          </For>
          <tr class="whole">
            <td>Reserved</td>
            <td class="num">{show(format(), reserved())}</td>
            <td class="num" />
          </tr>
        </tbody>
      </table>
      <p class="chart-note">
        Shades are stacks. Stuck memory is free, but its segment also holds blocks. Point at a block, or select it with
        the arrow keys.
      </p>
    </>
  );
}

const STATES: Record<string, string> = {
  allocated: "in use",
  pending: "pending free: freed, but still used by another stream",
};

function stateText(segment: SegmentMap, state: string): string {
  if (state !== "inactive") return STATES[state] ?? state;
  return stuckBytes(segment) > 0 ? "△ stuck: free, but its segment is in use" : "cached: free, can be returned";
}

function BlockDetails(props: { device: DeviceMemory; place: BlockPlace }): JSX.Element {
  const segment = () => props.device.segments[props.place.segment]!;
  const block = () => segment().blocks[props.place.block]!;
  const owner = () => (block().owner === null ? undefined : props.device.owners[block().owner!]);
  const requested = () =>
    block().requested_bytes === null ? "– (not recorded)" : figureText("bytes", block().requested_bytes);
  const facts = (): [string, string][] => [
    ["State", stateText(segment(), block().state)],
    ...(block().state === "inactive" ? [] : [["Requested", requested()] as [string, string]]),
    ["Address", hexAddress(segment().address, block().offset_bytes)],
    ["Segment", `${figureText("bytes", segment().total_bytes)}, ${counted(segment().blocks.length, "blocks")}`],
    ["In use of it", figureText("bytes", segment().allocated_bytes)],
    ...(owner() ? [["Category, est.", categoryLabel(owner()!.category)] as [string, string]] : []),
  ];
  return (
    <div class="block-details">
      <h3>{figureText("bytes", block().size_bytes)}</h3>
      <dl class="facts">
        <For each={facts()}>
          {([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd title={value}>{value}</dd>
            </>
          )}
        </For>
      </dl>
      <Show when={block().state !== "inactive"}>
        <b class="mono">{owner()?.line ?? "(no stack)"}</b>
        <Frames frames={owner()?.frames ?? null} />
      </Show>
    </div>
  );
}

/** The block in words, for those who do not see it. */
function said(device: DeviceMemory, { segment, block }: BlockPlace): string {
  const of = device.segments[segment]!;
  const { size_bytes, state, owner } = of.blocks[block]!;
  const line = owner === null ? "" : `, ${device.owners[owner]?.line ?? ""}`;
  return `${figureText("bytes", size_bytes)}, ${stateText(of, state)}${line}`;
}

function segmentTable(segments: SegmentMap[]): TablePart {
  const column = (name: string, label: string, unit: Column["unit"] = "plain"): Column => ({
    name,
    label,
    unit,
    look: unit === "bytes" && name === "total_bytes" ? "bar" : "value",
    class: null,
    from_width: 0,
  });
  return {
    kind: "table",
    name: "segments",
    title: null,
    columns: [
      column("address", "address"),
      column("stream_id", "stream", "id"),
      column("segment_type", "type"),
      column("is_expandable", "expandable"),
      column("blocks", "blocks"),
      column("total_bytes", "size", "bytes"),
      column("allocated_bytes", "in use", "bytes"),
      column("pending_bytes", "pending", "bytes"),
      column("stuck_bytes", "stuck", "bytes"),
      column("cached_bytes", "cached", "bytes"),
    ],
    rows: segments.map((segment) => [
      hexAddress(segment.address),
      segment.stream_id,
      segment.segment_type,
      segment.is_expandable,
      segment.blocks.length,
      segment.total_bytes,
      segment.allocated_bytes,
      segment.pending_bytes,
      stuckBytes(segment),
      cachedBytes(segment),
    ]),
    total: null,
    sorted_by: null,
    left_out: 0,
    notes: [],
    is_beside: false,
  };
}
