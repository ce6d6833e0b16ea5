// A sentence that never breaks between a figure and its unit. The characters stay those of the terminal.
import { For, type JSX } from "solid-js";
import { proseParts } from "../format/prose";

export function Prose(props: { text: string }): JSX.Element {
  return (
    <For each={proseParts(props.text)}>
      {(part) => (part.isFigure ? <span class="unbroken">{part.text}</span> : part.text)}
    </For>
  );
}
