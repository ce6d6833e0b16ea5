// Every key on one screen.
import { For, type JSX } from "solid-js";
import { RAIL_PAGES } from "./pages";
import { Sheet } from "./Sheet";

const EVERYWHERE: [string[], string][] = [
  [["/"], "search or filter"],
  [["["], "step before"],
  [["]"], "step after"],
  [["{"], "rank before"],
  [["}"], "rank after"],
  [["c"], "copy link"],
  [["t"], "dark or light"],
  [["\\"], "fold the rail"],
  [["Esc"], "up one level"],
  [["?"], "this sheet"],
];

const TIMELINE: [string[], string][] = [
  [["w", "s"], "zoom about the cursor"],
  [["a", "d"], "pan"],
  [["Shift"], "with these: faster"],
  [["f"], "fit the selection"],
  [["0"], "whole recording"],
  [["Arrows"], "select neighbours"],
  [[".", ","], "same name: next, previous"],
  [["Enter"], "next match"],
  [["m"], "keep the range as a mark"],
  [["p"], "pin the track"],
];

export function HelpSheet(props: { close: () => void }): JSX.Element {
  const pages = RAIL_PAGES.map((entry): [string[], string] => [["g", entry.key], entry.label]);
  return (
    <Sheet title="Keys" close={props.close}>
      <div class="keys">
        <Column title="Everywhere" keys={EVERYWHERE} />
        <Column title="Timeline" keys={TIMELINE} />
        <Column title="Pages" keys={pages} />
      </div>
    </Sheet>
  );
}

function Column(props: { title: string; keys: [string[], string][] }): JSX.Element {
  return (
    <section>
      <h3>{props.title}</h3>
      <For each={props.keys}>
        {([keys, what]) => (
          <div>
            <span>
              <For each={keys}>{(key) => <kbd>{key}</kbd>}</For>
            </span>
            <span>{what}</span>
          </div>
        )}
      </For>
    </section>
  );
}
