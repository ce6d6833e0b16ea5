// A text whose code looks like code.
import { For, Show, type JSX } from "solid-js";
import { codeParts } from "../format/code_parts";

export function Prose(props: { text: string }): JSX.Element {
  return (
    <For each={codeParts(props.text)}>
      {(part) => (
        <Show when={part.isCode} fallback={part.text}>
          <code>{part.text}</code>
        </Show>
      )}
    </For>
  );
}
