// What lies under the cursor, in two lines.
import { For, type JSX } from "solid-js";
import { classLabel } from "../format/names";
import { count, exactTime } from "../format/number";
import { classAt, nameAt, type Lanes } from "./lanes";
import { nameOnSpan } from "./overlay";
import { isOverflow } from "./sub_lanes";

export type Tip = { x: number; y: number; title: string; lines: string[] };

const WIDEST_PX = 440;

/** What is said of an entry, with more lines for a single one; the place is on the screen. */
export function tipOf(lanes: Lanes, entry: number, x: number, y: number, more: string[]): Tip {
  const [many, className] = [lanes.count[entry]!, classAt(lanes, entry)];
  const name = nameOnSpan(nameAt(lanes, entry), className);
  const shared = isOverflow(lanes.depth[entry]!) ? ["more concurrent spans than lanes; they share this row"] : [];
  if (many === 1) {
    const lines = [exactTime(lanes.dur[entry]!), classLabel(className), ...shared, ...more];
    // Time on a critical path may belong to no name.
    return { x, y, title: name || classLabel(className), lines };
  }
  const busy = `busy ${exactTime(lanes.busy[entry]!)} of ${exactTime(lanes.dur[entry]!)}`;
  return { x, y, title: classLabel(className), lines: [`${count(many)} events, ${busy}`, `longest: ${name}`] };
}

export function TipView(props: { tip: Tip }): JSX.Element {
  const left = () => Math.min(props.tip.x + 14, window.innerWidth - WIDEST_PX);
  return (
    <div class="tip" style={{ left: `${left()}px`, top: `${props.tip.y + 16}px` }}>
      <b>{props.tip.title}</b>
      <For each={props.tip.lines}>{(line) => <div class="muted">{line}</div>}</For>
    </div>
  );
}
