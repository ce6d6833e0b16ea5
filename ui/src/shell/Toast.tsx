// One short word about something that happened elsewhere: copied, exported, a new run.
import { createSignal, Show, type JSX } from "solid-js";

type Told = { text: string; link?: { label: string; address: string } };

const SHOWN_MS = 4000;
const [told, setTold] = createSignal<Told>();
let timer = 0;

export function tell(text: string, link?: Told["link"]): void {
  clearTimeout(timer);
  setTold({ text, link });
  timer = window.setTimeout(() => setTold(undefined), SHOWN_MS);
}

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(`${what} copied`);
  } catch {
    tell("Could not copy: allow clipboard access in the browser");
  }
}

export function Toast(): JSX.Element {
  return (
    <div role="status">
      <Show when={told()}>
        {(told) => (
          <div class="toast">
            {told().text}
            <Show when={told().link}>{(link) => <a href={link().address}>{link().label}</a>}</Show>
          </div>
        )}
      </Show>
    </div>
  );
}
