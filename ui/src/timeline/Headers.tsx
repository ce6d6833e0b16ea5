// The names of tracks and groups at the left of the lanes.
import { For, Match, Show, Switch, type JSX } from "solid-js";
import { count } from "../format/number";
import { Icon } from "../shell/icons";
import type { Row, TrackRow } from "./rows";

/** Tracks of several ranks stay where they are: they cannot be pinned. */
export type HeaderActions = { toggleFold: (key: string) => void; togglePin?: (track: number) => void };

/** How many spans of a track start before another has ended, where that is known. */
type OverlapsOf = (track: number) => number | undefined;

export function Headers(props: { rows: Row[]; overlapsOf: OverlapsOf; actions: HeaderActions }): JSX.Element {
  return (
    <div class="track-heads">
      <For each={props.rows}>
        {(row) => (
          <div class={`track-head ${row.kind}`} style={{ top: `${row.y}px`, height: `${row.height}px` }}>
            <Switch>
              <Match when={row.kind === "group" && row}>
                {(group) => <GroupHead row={group() as Extract<Row, { kind: "group" }>} actions={props.actions} />}
              </Match>
              <Match when={row.kind === "track" && row}>
                {(track) => (
                  <TrackHead
                    row={track() as TrackRow}
                    overlaps={props.overlapsOf((track() as TrackRow).track.track)}
                    actions={props.actions}
                  />
                )}
              </Match>
              <Match when={row.kind === "busy" || row.kind === "curve" || row.kind === "note"}>
                <span class="pin" />
                <span class="words">
                  <span title={row.title}>{row.title}</span>
                  <span class="faint" title={row.note}>
                    {row.note}
                  </span>
                </span>
                <Show when={row.kind !== "note"}>
                  <span class="axis">
                    <span>{row.kind === "curve" ? row.curve.axis : "100 %"}</span>
                    <span>0</span>
                  </span>
                </Show>
              </Match>
            </Switch>
          </div>
        )}
      </For>
    </div>
  );
}

function GroupHead(props: { row: Extract<Row, { kind: "group" }>; actions: HeaderActions }): JSX.Element {
  return (
    <button class="fold" aria-expanded={!props.row.isFolded} onClick={() => props.actions.toggleFold(props.row.key)}>
      <Icon name={props.row.isFolded ? "right" : "down"} size={12} />
      <b title={props.row.title}>{props.row.title}</b>
      <span class="faint" title={props.row.note}>
        {props.row.note}
      </span>
    </button>
  );
}

/** Below this height a header has one line. */
const TWO_LINES_PX = 38;

function TrackHead(props: { row: TrackRow; overlaps: number | undefined; actions: HeaderActions }): JSX.Element {
  const number = () => props.row.track.track;
  const overlapping = () => {
    if (props.overlaps === undefined) return "Spans overlap here without nesting. Each has a separate lane.";
    const spans = props.overlaps === 1 ? "span starts" : "spans start";
    return `${count(props.overlaps)} ${spans} before another span of this stream has ended.`;
  };
  const hint = () => {
    const { track, hint } = props.row;
    if (track.kind === "path") return "The critical path: what bounds each step. Click to collapse or expand.";
    const facts = [`${track.name}: ${count(track.spans)} events.`, hint && `${hint}.`, "Click to collapse or expand."];
    return facts.filter(Boolean).join(" ");
  };
  return (
    <>
      <Show when={props.row.track.kind !== "path" && props.actions.togglePin} fallback={<span class="pin" />}>
        {(togglePin) => (
          <button
            class="pin"
            classList={{ on: props.row.isPinned }}
            aria-pressed={props.row.isPinned}
            aria-label={`Pin ${props.row.title}`}
            title="Pin to the top (p)"
            onClick={() => togglePin()(number())}
          >
            <Icon name="pin" size={12} />
          </button>
        )}
      </Show>
      <button
        class="words"
        title={hint()}
        aria-expanded={!props.row.isFolded}
        onClick={() => props.actions.toggleFold(String(number()))}
      >
        <span>{props.row.title}</span>
        <Show when={!props.row.isFolded && props.row.height >= TWO_LINES_PX}>
          <span class="faint">
            {props.row.note || `${count(props.row.track.spans)} ${props.row.track.spans === 1 ? "event" : "events"}`}
          </span>
        </Show>
      </button>
      <Show when={props.row.isOverlapping || props.overlaps !== undefined}>
        <span class="overlaps" title={overlapping()}>
          △{props.overlaps === undefined ? "" : ` ${count(props.overlaps)}`}
          <span class="hidden-text"> {overlapping()}</span>
        </span>
      </Show>
      <Show when={!props.row.isFolded && (props.row.hidden > 0 || props.row.isWhole)}>
        <button
          class="deeper"
          title={props.row.first > 0 ? "Show Python frames and deeper lanes" : "Show deeper lanes"}
          onClick={() => props.actions.toggleFold(`+${number()}`)}
        >
          {props.row.isWhole ? "less" : `+${props.row.hidden}`}
          <span class="hidden-text"> lanes</span>
        </button>
      </Show>
    </>
  );
}
