// The names of tracks and groups at the left of the lanes.
import { For, Match, Show, Switch, type JSX } from "solid-js";
import { count } from "../format/number";
import { Icon } from "../shell/icons";
import type { Row } from "./rows";

export type HeaderActions = { toggleFold: (key: string) => void; togglePin: (track: number) => void };

export function Headers(props: { rows: Row[]; actions: HeaderActions }): JSX.Element {
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
                {(track) => <TrackHead row={track() as Extract<Row, { kind: "track" }>} actions={props.actions} />}
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

function TrackHead(props: { row: Extract<Row, { kind: "track" }>; actions: HeaderActions }): JSX.Element {
  const number = () => props.row.track.track;
  return (
    <>
      <button
        class="pin"
        classList={{ on: props.row.isPinned }}
        aria-pressed={props.row.isPinned}
        aria-label={`Pin ${props.row.title}`}
        title="Pin to the top (p)"
        onClick={() => props.actions.togglePin(number())}
      >
        <Icon name="pin" size={12} />
      </button>
      <button
        class="words"
        title={`${props.row.track.name}: ${count(props.row.track.spans)} events. Click folds.`}
        aria-expanded={!props.row.isFolded}
        onClick={() => props.actions.toggleFold(String(number()))}
      >
        <span>{props.row.title}</span>
        <Show when={!props.row.isFolded}>
          <span class="faint">
            {props.row.note || `${count(props.row.track.spans)} ${props.row.track.spans === 1 ? "event" : "events"}`}
          </span>
        </Show>
      </button>
      <Show when={!props.row.isFolded && (props.row.hidden > 0 || props.row.isWhole)}>
        <button
          class="deeper"
          title={props.row.first > 0 ? "Python frames and deeper lanes" : "Deeper lanes"}
          onClick={() => props.actions.toggleFold(`+${number()}`)}
        >
          {props.row.isWhole ? "less" : `+${props.row.hidden}`}
          <span class="hidden-text"> lanes</span>
        </button>
      </Show>
    </>
  );
}
