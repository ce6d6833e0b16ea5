// Where segments lie in the picture of a device's memory: bars to scale, from left to right and row by row, and the
// blocks in them. A segment that is longer than a row goes on in the next one.
import type { MapBlock, SegmentMap } from "../server/types";

export const ROW_PX = 20;
const ROW_GAP_PX = 5;
const SEGMENT_GAP_PX = 3;
const HEADING_PX = 26;
const GROUP_GAP_PX = 8;
/** A segment that is smaller is drawn so wide that it can be seen. */
const LEAST_PX = 4;

/** Segments of one stream and type. */
export type SegmentGroup = { label: string; segments: number[]; totalBytes: number; stuckBytes: number };

/** A segment, or a row of one; bytes from its start. */
export type MapPart = { segment: number; from: number; to: number; x: number; y: number; width: number };
export type MapHeading = { y: number; group: SegmentGroup };
export type MapLayout = { parts: MapPart[]; headings: MapHeading[]; height: number };
export type BlockPlace = { segment: number; block: number };
export type Box = { x: number; y: number; width: number };

/** Free memory of a segment that also holds blocks: the allocator cannot return it. */
export function stuckBytes(segment: SegmentMap): number {
  return segment.allocated_bytes + segment.pending_bytes > 0 ? segment.inactive_bytes : 0;
}

/** Free memory of a segment that holds no blocks. */
export function cachedBytes(segment: SegmentMap): number {
  return segment.inactive_bytes - stuckBytes(segment);
}

/** Groups by stream and type, the largest first; segments keep their order. */
export function segmentGroups(segments: SegmentMap[]): SegmentGroup[] {
  const groups = new Map<string, SegmentGroup>();
  segments.forEach((segment, place) => {
    const label = groupLabel(segment);
    const group = groups.get(label) ?? { label, segments: [], totalBytes: 0, stuckBytes: 0 };
    groups.set(label, group);
    group.segments.push(place);
    group.totalBytes += segment.total_bytes;
    group.stuckBytes += stuckBytes(segment);
  });
  return [...groups.values()].sort((a, b) => b.totalBytes - a.totalBytes);
}

function groupLabel({ stream_id, segment_type, is_expandable }: SegmentMap): string {
  const words = [
    stream_id === null ? "" : `stream ${stream_id}`,
    segment_type ?? "",
    is_expandable === true ? "expandable" : "",
  ].filter(Boolean);
  const label = words.length > 0 ? words.join(", ") : "segments";
  return label.charAt(0).toUpperCase() + label.slice(1);
}

/** How the scale grows from one attempt to the next until the device fits. */
const COARSER = 1.06;

/** The whole device in a picture of at most this height, if it can be: the largest segment takes at most a row. */
export function fitSegments(segments: SegmentMap[], groups: SegmentGroup[], width: number, height: number): number {
  const largest = segments.reduce((most, segment) => Math.max(most, segment.total_bytes), 1);
  let scale = largest / width;
  // Where even the least width is too much for the height, a coarser scale changes nothing.
  for (; scale < largest / LEAST_PX && layoutSegments(segments, groups, width, scale).height > height; scale *= COARSER);
  return scale;
}

/** `scale` is the bytes that a pixel stands for. */
export function layoutSegments(
  segments: SegmentMap[],
  groups: SegmentGroup[],
  width: number,
  scale: number,
): MapLayout {
  const parts: MapPart[] = [];
  const headings: MapHeading[] = [];
  let y = 0;
  for (const group of groups) {
    headings.push({ y, group });
    y += HEADING_PX;
    let x = 0;
    const nextRow = () => ((x = 0), (y += ROW_PX + ROW_GAP_PX));
    for (const segment of group.segments) {
      const bytes = segments[segment]!.total_bytes;
      const long = Math.max(LEAST_PX, bytes / scale);
      if (x > 0 && x + long > width + 0.5) nextRow();
      for (let done = 0; done < long; ) {
        const part = Math.min(width - x, long - done);
        // A rest that is too thin to be seen stays with the row before.
        const isLast = long - done - part < 0.5;
        const to = isLast ? bytes : ((done + part) / long) * bytes;
        parts.push({ segment, from: (done / long) * bytes, to, x, y, width: part });
        if (isLast) {
          x += part + SEGMENT_GAP_PX;
          break;
        }
        done += part;
        nextRow();
      }
    }
    nextRow();
    y += GROUP_GAP_PX;
  }
  return { parts, headings, height: Math.max(0, y - GROUP_GAP_PX) };
}

/** The first part whose row ends below a height. */
export function firstBelow(parts: MapPart[], y: number): number {
  let [low, high] = [0, parts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (parts[middle]!.y + ROW_PX <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The last block that begins at or before an offset. */
export function blockAt(blocks: MapBlock[], offset: number): number {
  let [low, high] = [0, blocks.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (blocks[middle]!.offset_bytes <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** What lies at a point of the picture. */
export function hitBlock(layout: MapLayout, segments: SegmentMap[], x: number, y: number): BlockPlace | undefined {
  for (let at = firstBelow(layout.parts, y); at < layout.parts.length && layout.parts[at]!.y <= y; at++) {
    const part = layout.parts[at]!;
    if (x < part.x || x >= part.x + part.width) continue;
    const { blocks } = segments[part.segment]!;
    const offset = part.from + ((x - part.x) / part.width) * (part.to - part.from);
    return blocks.length > 0 ? { segment: part.segment, block: blockAt(blocks, offset) } : undefined;
  }
  return undefined;
}

/** Where a block is drawn; one box per row. */
export function boxesOf(layout: MapLayout, segments: SegmentMap[], { segment, block }: BlockPlace): Box[] {
  const found = segments[segment]?.blocks[block];
  if (!found) return [];
  const [from, to] = [found.offset_bytes, found.offset_bytes + found.size_bytes];
  return layout.parts
    .filter((part) => part.segment === segment && part.from < to && part.to > from)
    .map((part) => {
      const px = part.width / (part.to - part.from);
      const left = (Math.max(from, part.from) - part.from) * px;
      const right = (Math.min(to, part.to) - part.from) * px;
      return { x: part.x + left, y: part.y, width: Math.max(2, right - left) };
    });
}

/** The block that an arrow key leads to: along the addresses, or to the segment before and after. */
export function walk(
  groups: SegmentGroup[],
  segments: SegmentMap[],
  at: BlockPlace | undefined,
  by: "left" | "right" | "up" | "down",
): BlockPlace | undefined {
  const order = groups.flatMap((group) => group.segments).filter((place) => segments[place]!.blocks.length > 0);
  if (order.length === 0) return undefined;
  if (!at) return { segment: order[0]!, block: 0 };
  const here = order.indexOf(at.segment);
  const last = (place: number) => segments[order[place]!]!.blocks.length - 1;
  if (by === "up" || by === "down") {
    const next = Math.min(order.length - 1, Math.max(0, here + (by === "down" ? 1 : -1)));
    return { segment: order[next]!, block: 0 };
  }
  const block = at.block + (by === "right" ? 1 : -1);
  if (block >= 0 && block <= last(here)) return { segment: at.segment, block };
  const next = here + (by === "right" ? 1 : -1);
  if (next < 0 || next >= order.length) return at;
  return { segment: order[next]!, block: by === "right" ? 0 : last(next) };
}

/** What a stretch of a part is drawn as: a block, or for several that share a pixel the one that stands for most. */
export type MapPiece = { left: number; right: number; block: number };

/** The pieces of a part, at most two per pixel. */
export function piecesOf(blocks: MapBlock[], part: MapPart): MapPiece[] {
  const pieces: MapPiece[] = [];
  const px = part.width / (part.to - part.from);
  let column = -1;
  let inColumn: { block: number; width: number }[] = [];
  const flush = () => {
    if (inColumn.length === 0) return;
    const byState = new Map<string, number>();
    for (const { block, width } of inColumn) {
      const { state } = blocks[block]!;
      byState.set(state, (byState.get(state) ?? 0) + width);
    }
    const [state] = [...byState].reduce((most, each) => (each[1] > most[1] ? each : most));
    const widest = inColumn
      .filter(({ block }) => blocks[block]!.state === state)
      .reduce((most, each) => (each.width > most.width ? each : most));
    pieces.push({ left: column, right: Math.min(part.width, column + 1), block: widest.block });
    inColumn = [];
  };
  for (let block = blockAt(blocks, part.from); block < blocks.length; block++) {
    const { offset_bytes, size_bytes } = blocks[block]!;
    if (offset_bytes >= part.to) break;
    const left = Math.max(0, (offset_bytes - part.from) * px);
    const right = Math.min(part.width, (offset_bytes + size_bytes - part.from) * px);
    if (right <= left) continue;
    if (right - left >= 1) {
      flush();
      pieces.push({ left, right, block });
      continue;
    }
    if (Math.floor(left) !== column) flush();
    column = Math.floor(left);
    inColumn.push({ block, width: right - left });
  }
  flush();
  return pieces;
}
