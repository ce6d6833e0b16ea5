// The frame around every page.
import { createSignal, lazy, Match, onMount, Show, Suspense, Switch, type JSX } from "solid-js";
import { Compare } from "../pages/Compare";
import { CriticalPath } from "../pages/CriticalPath";
import { Distributed } from "../pages/Distributed";
import { Memory } from "../pages/Memory";
import { Overview } from "../pages/Overview";
import { Sql } from "../pages/Sql";
import { TablePage } from "../pages/TablePage";
import { openQuestions } from "../server/client";
import type { Source } from "../server/types";
import { addressWith, currentPage, pageAddress } from "../state/route";
import { followSession, run, session, sessionError, tablePage, unknown } from "../state/session";
import { chooseRail, railChoice } from "../state/theme";
import { followCounts } from "./counts";
import { HelpSheet } from "./HelpSheet";
import { followKeys } from "./keys";
import { Rail } from "./Rail";
import { EmptyState, ErrorState, ReadingState, UnknownState } from "./states";
import { tell, Toast } from "./Toast";
import { TopBar } from "./TopBar";

const Timeline = lazy(() => import("../timeline/Timeline"));

export function App(): JSX.Element {
  const [showsHelp, setShowsHelp] = createSignal(false);
  // The timeline needs the width.
  const isSlim = () => (railChoice() === undefined ? currentPage() === "timeline" : railChoice() === "slim");
  onMount(() => {
    followSession({
      newRun: (name) => tell(`New run: ${name}`, { label: "Open", address: pageAddress("overview", { run: name }) }),
      renewed: (news) => tell(news.text, news.open && { label: "Open", address: addressWith(news.open) }),
    });
    followCounts();
    followKeys({ help: () => setShowsHelp(true), toggleRail: () => chooseRail(isSlim() ? "wide" : "slim") });
  });
  return (
    <div class="app" classList={{ slim: isSlim() }}>
      <a
        class="skip"
        href="#main"
        onClick={(event) => (event.preventDefault(), document.querySelector<HTMLElement>("main")?.focus())}
      >
        Skip to content
      </a>
      <TopBar openHelp={() => setShowsHelp(true)} />
      <Rail />
      <main id="main" tabindex="-1" aria-busy={openQuestions() > 0}>
        <Suspense>
          <RunOrReason />
        </Suspense>
      </main>
      <Toast />
      <Show when={showsHelp()}>
        <HelpSheet close={() => setShowsHelp(false)} />
      </Show>
    </div>
  );
}

/** Nothing was recorded. A memory snapshot may have segments and no events. */
const isEmpty = (source: Source) =>
  source.events === 0 && source.complete_steps === 0 && !source.rows.memory_segments;

/** The page of a run that can be looked at; otherwise why there is none. */
function RunOrReason(): JSX.Element {
  const reading = () => session()?.runs.filter((run) => run.state === "reading") ?? [];
  return (
    <Switch>
      <Match when={session() === undefined && sessionError()}>
        <ErrorState error={sessionError()} />
      </Match>
      <Match when={session()?.runs.length === 0}>
        <EmptyState
          title="No runs found"
          why="Open a trace of torch.profiler, a cProfile profile, or a folder with several."
          code="stepscope open trace.json.gz"
        />
      </Match>
      <Match when={unknown().length > 0}>
        <UnknownState unknown={unknown()} />
      </Match>
      <Match when={run()?.state === "reading"}>
        <ReadingState runs={reading()} />
      </Match>
      <Match when={run()?.state === "failed"}>
        <ErrorState error={run()?.error ?? "the trace could not be read"} />
      </Match>
      <Match when={run()?.sources.every(isEmpty)}>
        <EmptyState
          title="This trace has no events"
          why="A profiler that stops before its first step writes such a file. Call prof.step() after each iteration."
          code={"for step, batch in enumerate(loader):\n    train(batch)\n    prof.step()"}
        />
      </Match>
      <Match when={run()}>
        <CurrentPage />
      </Match>
    </Switch>
  );
}

function CurrentPage(): JSX.Element {
  return (
    <Switch fallback={<Overview />}>
      <Match when={currentPage() === "timeline"}>
        <Timeline />
      </Match>
      <Match when={currentPage() === "critical" && tablePage("critical")}>
        {(entry) => <CriticalPath entry={entry()} />}
      </Match>
      <Match when={currentPage() === "memory" && tablePage("memory")}>{(entry) => <Memory entry={entry()} />}</Match>
      <Match when={currentPage() === "distributed"}>
        <Distributed />
      </Match>
      <Match when={currentPage() === "compare"}>
        <Compare />
      </Match>
      <Match when={currentPage() === "sql"}>
        <Sql />
      </Match>
      <Match when={tablePage(currentPage())}>{(entry) => <TablePage entry={entry()} />}</Match>
    </Switch>
  );
}
