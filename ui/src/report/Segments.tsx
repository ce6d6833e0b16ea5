// A choice of a few, side by side.
import { For, type JSX } from "solid-js";

export function Segments(props: {
  label: string;
  options: [string, string][];
  value: string;
  choose: (value: string) => void;
}): JSX.Element {
  return (
    <span class="seg" role="group" aria-label={props.label}>
      <For each={props.options}>
        {([value, text]) => (
          <button aria-pressed={props.value === value} onClick={() => props.choose(value)}>
            {text}
          </button>
        )}
      </For>
    </span>
  );
}
