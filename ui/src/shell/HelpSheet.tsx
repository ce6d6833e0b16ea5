// Every key and every gesture of the mouse on one screen.
import { For, type JSX } from "solid-js";
import { railPages } from "./pages";
import { Sheet } from "./Sheet";

const EVERYWHERE: [string[], string][] = [
  [["/"], "search or filter"],
  [["Ctrl K"], "search names, findings and pages"],
  [["["], "previous step"],
  [["]"], "next step"],
  [["{"], "previous rank"],
  [["}"], "next rank"],
  [["c"], "copy link"],
  [["t"], "switch theme"],
  [["\\"], "collapse the sidebar"],
  [["Esc"], "up one level"],
  [["?"], "show this help"],
];

const TIMELINE: [string[], string][] = [
  [["w", "s"], "zoom at the cursor"],
  [["a", "d"], "pan"],
  [["Shift"], "with these keys: faster"],
  [["f"], "fit the selection"],
  [["0"], "show the whole trace"],
  [["Arrows"], "select neighbors"],
  [[".", ","], "next or previous of that name"],
  [["Enter"], "next match; previous with Shift"],
  [["Ctrl F"], "find in the timeline"],
  [["m"], "mark the range"],
  [["p"], "pin the track"],
  [["h"], "show the critical path"],
];

/** What `timeline/gestures.ts`, the headers, the map and the charts follow, and nothing else. */
const MOUSE: [string, string][] = [
  ["Click a span", "select it"],
  ["Wheel", "scroll the tracks"],
  ["Drag on the lanes", "select a range; edges snap to spans"],
  ["Ctrl or ⌘ + wheel", "zoom at the cursor"],
  ["Alt + drag", "zoom to the dragged range"],
  ["Wheel over the ruler", "zoom at the cursor"],
  ["Shift or middle button + drag", "pan"],
  ["Shift + wheel, or swipe", "pan"],
  ["Drag the ruler or the minimap", "pan"],
  ["Click a track's name", "collapse or expand it"],
  ["Click or drag on step bars", "select one or more steps"],
  ["Click a frame of a flame graph", "zoom in to it"],
  ["Click a stack or a block of memory", "show its call stack"],
  ["Drag on the memory chart", "select a range"],
  ["Double-click the memory chart", "clear the range"],
];

export function HelpSheet(props: { close: () => void }): JSX.Element {
  const pages = railPages().flatMap((entry): [string[], string][] =>
    entry.key === null ? [] : [[["g", entry.key], entry.label]],
  );
  return (
    <Sheet title="Keyboard and mouse" close={props.close}>
      <div class="keys">
        <Column title="Everywhere" keys={EVERYWHERE} />
        <Column title="Timeline" keys={TIMELINE} />
        <Column title="Pages" keys={pages} />
        <section class="mouse">
          <h3>Mouse and trackpad on the timeline and charts</h3>
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
