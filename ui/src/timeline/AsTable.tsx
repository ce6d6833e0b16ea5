// The same spans as a table, for those who do not see the picture.
import { createSignal, For, Show, type JSX } from "solid-js";
import { classLabel } from "../format/names";
import { exactTime } from "../format/number";
import { Sheet } from "../shell/Sheet";
import type { LaneStore } from "./lane_store";
import { classAt, nameAt } from "./lanes";
import { nameOnSpan } from "./overlay";
import type { Row } from "./rows";
import type { Range } from "./view";

const MOST = 300;

export function AsTable(props: {
  view: Range;
  rows: Row[];
  store: LaneStore;
  select: (spanId: number, track: number) => void;
}): JSX.Element {
  const [isOpen, setIsOpen] = createSignal(false);
  const spans = () => {
    const { view } = props;
    let rank = "";
    const found = props.rows.flatMap((row) => {
      if (row.kind === "group") rank = row.key.startsWith("r:") ? `${row.title}, ` : "";
      const lanes = row.kind === "track" ? props.store.lanes(row.track.track).current : undefined;
      if (!lanes || row.kind !== "track") return [];
      return Array.from({ length: lanes.size }, (_, i) => i)
        .filter(
          (i) => lanes.count[i] === 1 && lanes.start[i]! <= view.to && lanes.start[i]! + lanes.dur[i]! >= view.from,
        )
        .map((i) => ({
          track: `${rank}${row.title}`,
          number: row.track.track,
          name: nameOnSpan(nameAt(lanes, i), classAt(lanes, i)),
          className: classAt(lanes, i),
          start: lanes.start[i]!,
          dur: lanes.dur[i]!,
          id: lanes.spanId[i]!,
        }));
    });
    return found.sort((a, b) => b.dur - a.dur).slice(0, MOST);
  };
  return (
    <>
      <button class="as-table btn" onClick={() => setIsOpen(true)}>
        Show as table
      </button>
      <Show when={isOpen()}>
        <Sheet title={`Longest ${MOST} spans on screen`} close={() => setIsOpen(false)}>
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th>Class</th>
                <th>Track</th>
                <th class="num">Start</th>
                <th class="num">Duration</th>
              </tr>
            </thead>
            <tbody>
              <For each={spans()}>
                {(span) => (
                  <tr>
                    <td>
                      <button class="link" onClick={() => (setIsOpen(false), props.select(span.id, span.number))}>
                        {span.name}
                      </button>
                    </td>
                    <td>{classLabel(span.className)}</td>
                    <td>{span.track}</td>
                    <td class="num">{exactTime(span.start)}</td>
                    <td class="num">{exactTime(span.dur)}</td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </Sheet>
      </Show>
    </>
  );
}
