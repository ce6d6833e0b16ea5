// The pages. One without data stays in its place, faint: opening it explains what to record.
import { For, Show, type JSX } from "solid-js";
import { count, shortCount } from "../format/number";
import { currentPage, pageAddress } from "../state/route";
import { session } from "../state/session";
import { skippedTitle } from "../state/skipped";
import { hasRows, rowCount } from "./counts";
import { Icon, pageIcon } from "./icons";
import { rail, type RailEntry } from "./pages";

export function Rail(): JSX.Element {
  return (
    <nav class="rail" aria-label="Pages">
      <For each={rail()}>
        {(group) => (
          <>
            <div class="cap">{group.caption}</div>
            <For each={group.pages}>{(entry) => <RailLink entry={entry} />}</For>
          </>
        )}
      </For>
      <div class="foot">
        Stepscope {session()?.version}
        <br />
        offline, on this machine
        <Show when={(session()?.skipped_files.length ?? 0) > 0}>
          <br />
          <span title={(session()?.skipped_files ?? []).map((file) => `${file.path}: ${file.what}`).join("\n")}>
            {skippedTitle(session()?.skipped_files ?? [])}
          </span>
        </Show>
      </div>
    </nav>
  );
}

function RailLink(props: { entry: RailEntry }): JSX.Element {
  const rows = () => rowCount(props.entry.page);
  return (
    <a
      href={pageAddress(props.entry.page)}
      classList={{ off: !hasRows(props.entry.page) }}
      aria-current={currentPage() === props.entry.page ? "page" : undefined}
      title={props.entry.key === null ? props.entry.label : `${props.entry.label} (g ${props.entry.key})`}
    >
      <Icon name={pageIcon(props.entry.page)} />
      <span>{props.entry.label}</span>
      <Show when={rows() !== undefined}>
        <span class="n" title={count(rows() ?? 0)}>
          {rows() === 0 ? "–" : shortCount(rows() ?? 0)}
        </span>
      </Show>
    </a>
  );
}
