// Threads and streams on one axis. The page never holds the trace: it asks for what fits the screen.
import { createMemo, Show, type JSX } from "solid-js";
import type { SourceKey } from "../server/questions";
import type { TimelineOutline } from "../server/types";
import { EmptyState } from "../shell/states";
import { copyText } from "../shell/Toast";
import { choice, choose, currentAddress } from "../state/route";
import { createAnswer } from "../state/answer";
import { chosenRange, ranks, run, source as recording, sourceKey, timelineOutline } from "../state/session";
import { askRanks, type RanksQuestion, type SeveralRanks } from "./ask_ranks";
import { RanksBar } from "./RanksBar";
import { Segments } from "../report/Segments";
import "../look/timeline.css";
import { Board } from "./Board";
import { Find } from "./Find";
import { Minimap } from "./Minimap";
import type { ColorBy } from "./scene";
import { createTimelineState, type ArrowKind } from "./state";

export default function Timeline(): JSX.Element {
  const question = createMemo((): RanksQuestion | undefined => {
    const [job, own, outline, asked] = [run(), recording(), timelineOutline(), choice("ranks")];
    return job && own && outline && asked && ranks().length > 1 ? { run: job, own, outline, asked } : undefined;
  });
  const [several] = createAnswer(question, async (asked, signal) => ({ asked, found: await askRanks(asked, signal) }));
  const known = createMemo(() => {
    const [source, outline, asked] = [sourceKey(), timelineOutline(), question()];
    if (!source || !outline) return undefined;
    if (!asked || several.error) return { source, outline, several: undefined };
    const answer = several.latest?.asked === asked ? several.latest : undefined;
    return answer && { source, outline, several: answer.found };
  });
  return (
    <Show when={known()} keyed>
      {(known) => (
        <Show
          when={known.outline.tracks.length > 0}
          fallback={
            <EmptyState
              title="No events to show"
              why="This trace has no events with a start time. Record CPU and GPU activities."
              code="profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"
            />
          }
        >
          <TimelineOf source={known.source} outline={known.outline} several={known.several} />
        </Show>
      )}
    </Show>
  );
}

function TimelineOf(props: {
  source: SourceKey;
  outline: TimelineOutline;
  several: SeveralRanks | undefined;
}): JSX.Element {
  const state = createTimelineState(props.source, props.outline, props.several?.bounds);
  return (
    <div class="flush timeline">
      <div class="toolbar">
        <Find search={state.search} />
        <span class="caption">Color</span>
        <Segments
          label="Color"
          options={[
            ["class", "class"],
            ["name", "name"],
          ]}
          value={state.colorBy()}
          choose={(value) => state.setColorBy(value as ColorBy)}
        />
        <span class="caption">Arrows</span>
        <Segments
          label="Arrows"
          options={[
            ["launch", "launch"],
            ["forward", "fwd–bwd"],
            ["off", "off"],
          ]}
          value={state.arrowKind()}
          choose={(value) => state.setArrowKind(value as ArrowKind)}
        />
        <Show when={!props.several}>
          <button
            class="btn"
            aria-pressed={state.isPathShown()}
            title="Show what each step waited for (h)"
            onClick={() => state.togglePath()}
          >
            Critical path
          </button>
        </Show>
        <Show when={state.isSelectionUnknown()}>
          <span class="muted" role="alert">
            Span {choice("sel")} is not in this trace.{" "}
            <button class="plain-link" onClick={() => choose({ sel: undefined })}>
              Remove
            </button>
          </span>
        </Show>
        <RanksBar several={props.several} />
        <span class="grow" />
        <span class="hints" aria-hidden="true" hidden={props.several !== undefined}>
          <kbd>w</kbd> <kbd>s</kbd> zoom <kbd>a</kbd> <kbd>d</kbd> pan <kbd>[</kbd> <kbd>]</kbd> step <kbd>f</kbd> fit{" "}
          <kbd>m</kbd> mark
        </span>
        <button class="btn" onClick={() => void copyText(currentAddress(), "Link")}>
          Copy link
        </button>
      </div>
      <Minimap
        bounds={state.bounds}
        view={state.shownView()}
        steps={state.steps}
        density={state.search.density()}
        recording={state.recording}
        several={props.several}
        look={(view) => state.look(view)}
      />
      <Board
        source={props.source}
        outline={props.outline}
        state={state}
        colorBy={state.colorBy()}
        range={chosenRange()}
        several={props.several}
      />
    </div>
  );
}
