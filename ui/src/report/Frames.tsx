// The frames of a stack, innermost first. Frames of C++ are folded where there are frames of Python.
import { createEffect, createSignal, For, on, Show, type JSX } from "solid-js";
import { framesIn } from "../format/code_lines";
import { counted } from "../format/names";

export function Frames(props: { frames: string | null }): JSX.Element {
  const [showsAll, setShowsAll] = createSignal(false);
  createEffect(on(() => props.frames, () => setShowsAll(false), { defer: true }));
  const all = () => framesIn(props.frames ?? "");
  const python = () => all().filter((frame) => frame.isPython);
  const folded = () => (python().length > 0 ? all().length - python().length : 0);
  const shown = () => (showsAll() || folded() === 0 ? all() : python());
  return (
    <Show when={all().length > 0} fallback={<p class="faint">No call stack recorded.</p>}>
      <ol class="frames" tabindex="0" aria-label="Call stack, innermost frame first">
        <For each={shown()}>{(frame) => <li classList={{ faint: !frame.isPython }}>{frame.text}</li>}</For>
      </ol>
      <Show when={folded() > 0}>
        <button class="link" onClick={() => setShowsAll(!showsAll())}>
          {showsAll() ? "Show Python frames only" : `Show ${counted(folded(), "C++ frames")} too`}
        </button>
      </Show>
    </Show>
  );
}
