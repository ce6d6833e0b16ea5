// Every key and every gesture of the mouse on one screen.
import { For, type JSX } from "solid-js";
import { railPages } from "./pages";
import { Sheet } from "./Sheet";

const EVERYWHERE: [string[], string][] = [
  [["/"], "search or filter"],
  [["Ctrl K"], "search names, findings and pages"],
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
  [["Arrows"], "select neighbors"],
  [[".", ","], "same name: next, previous"],
  [["Enter"], "next match; with Shift: previous"],
  [["Ctrl F"], "find in the timeline"],
  [["m"], "keep the range as a mark"],
  [["p"], "pin the track"],
];

/** What `timeline/gestures.ts`, the headers, the map and the charts follow, and nothing else. */
const MOUSE: [string, string][] = [
  ["Click a span", "select it"],
  ["Wheel", "scroll the tracks"],
  ["Drag on the lanes", "choose a range; edges snap to spans"],
  ["Ctrl or ⌘ + wheel", "zoom about the cursor"],
  ["Alt + drag", "zoom to what was drawn"],
  ["Wheel over the ruler", "zoom about the cursor"],
  ["Shift or middle button + drag", "move sideways"],
  ["Shift + wheel, or swipe", "move sideways"],
  ["Drag the ruler or the map", "move sideways"],
  ["Click a track's name", "fold or unfold it"],
  ["Click or drag on step bars", "choose a step, or several"],
  ["Click a flame", "zoom into it"],
  ["Drag on the memory chart", "choose a range"],
  ["Double click on it", "clear the range"],
];

export function HelpSheet(props: { close: () => void }): JSX.Element {
  const pages = railPages().flatMap((entry): [string[], string][] =>
    entry.key === null ? [] : [[["g", entry.key], entry.label]],
  );
  return (
    <Sheet title="Keys and mouse" close={props.close}>
      <div class="keys">
        <Column title="Everywhere" keys={EVERYWHERE} />
        <Column title="Timeline" keys={TIMELINE} />
        <Column title="Pages" keys={pages} />
        <section class="mouse">
          <h3>Mouse and trackpad, in the timeline and on charts</h3>
          <For each={MOUSE}>
            {([gesture, what]) => (
              <div>
                <span>{gesture}</span>
                <span>{what}</span>
              </div>
            )}
          </For>
        </section>
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
