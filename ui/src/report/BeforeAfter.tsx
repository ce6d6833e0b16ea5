// A step as it is and as a change would make it: two bars of one scale, and the range that the second may end in.
import { Show, type JSX } from "solid-js";
import { figureText } from "../format/number";
import { ClassBar } from "./ClassBar";
import { sumOf, type ClassTime } from "./class_times";

/** What a change saves per step, and the least and most that it may be. */
export type SavedTime = { saving: number; low: number; high: number };

export function BeforeAfter(props: {
  /** The step as it is, by class. */
  now: ClassTime[];
  /** How long that is, if the classes are not known. */
  step?: number;
  saved: SavedTime;
}): JSX.Element {
  const step = () => props.step ?? sumOf(props.now);
  const share = (ns: number) => `${100 * Math.min(1, Math.max(0, ns / Math.max(1, step())))}%`;
  const time = (ns: number) => figureText("ns", Math.round(ns));
  return (
    <div class="before-after">
      <span class="muted">Now</span>
      <Show when={props.now.length > 0} fallback={<span class="class-bar"><i class="then" style={{ width: share(step()) }} /></span>}>
        <ClassBar times={props.now} whole={step()} />
      </Show>
      <span class="num">{time(step())}</span>
      <span class="muted">Then</span>
      <span class="class-bar">
        <i class="then" style={{ width: share(step() - props.saved.saving) }} />
        <i
          class="may-be"
          title={`Ends between ${time(step() - props.saved.high)} and ${time(step() - props.saved.low)}`}
          style={{ left: share(step() - props.saved.high), width: share(props.saved.high - props.saved.low) }}
        />
      </span>
      <span class="num whole">{time(step() - props.saved.saving)}</span>
    </div>
  );
}
