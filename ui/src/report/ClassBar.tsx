// Time by class as one bar. Bars that are compared share the time that fills them.
import { For, Show, type JSX } from "solid-js";
import { classLabel } from "../format/names";
import { figureText } from "../format/number";
import { fillOf } from "./cells";
import type { ClassTime } from "./class_times";

/** A class this wide, as a share of the whole bar, has room for its name. */
const NAMED_FROM = 0.09;

export function ClassBar(props: { times: ClassTime[]; whole: number; isNamed?: boolean }): JSX.Element {
  const share = (ns: number) => ns / Math.max(1, props.whole);
  return (
    <span class="class-bar" classList={{ named: props.isNamed }}>
      <For each={props.times}>
        {(time) => (
          <i
            classList={{ hatched: time.name === "other" }}
            title={`${classLabel(time.name)}: ${figureText("ns", Math.round(time.ns))}`}
            style={{ ...fillOf(time.name), width: `${100 * share(time.ns)}%` }}
          >
            <Show when={props.isNamed && share(time.ns) >= NAMED_FROM}>
              <span style={{ color: `var(--${time.name === "other" ? "ink" : `on-${time.name}`}, var(--ink))` }}>{classLabel(time.name)}</span>
            </Show>
          </i>
        )}
      </For>
    </span>
  );
}
