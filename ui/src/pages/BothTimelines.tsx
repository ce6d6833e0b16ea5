// The same step of both runs on the timeline, aligned at its start.
import { createMemo, lazy, Show, Suspense, type JSX } from "solid-js";
import { stepMark } from "../format/names";
import { outline } from "../server/questions";
import { Answer } from "../shell/Answer";
import { Icon } from "../shell/icons";
import { createAnswer } from "../state/answer";
import { choice, choose } from "../state/route";
import type { Side } from "./ask_comparison";

const TwoBoards = lazy(() => import("../timeline/TwoBoards"));

export function BothTimelines(props: { a: Side; b: Side }): JSX.Element {
  const steps = () => Math.min(props.a.steps.length, props.b.steps.length);
  /** The place of the step, from 0; the address counts from 1. */
  const place = () => Math.min(steps() - 1, Math.max(0, (Number(choice("align")) || 1) - 1));
  const align = (to: number) => choose({ align: to === 0 ? undefined : String(to + 1), view: undefined });
  const sides = createMemo(() => {
    const found = [props.a, props.b].flatMap(({ source, first }) => (source && first !== undefined ? [{ source, first }] : []));
    return found.length === 2 ? found : undefined;
  });
  const [outlines, retry] = createAnswer(sides, async (sides) => ({
    sides,
    outlines: await Promise.all(sides.map((side) => outline(side.source))),
  }));
  const stepOf = (side: Side) => side.steps[place()]!;
  const names = () => [...new Set([props.a, props.b].map((side) => stepMark(stepOf(side).name)))].join(" and ");
  return (
    <Show when={steps() > 0 && sides()}>
      <section class="panel">
        <header>
          <h2>Timelines</h2>
          <span class="what">critical path, streams and threads, aligned at the start of a step</span>
          <span class="more walk">
            <button
              class="icon"
              aria-label="Previous step"
              disabled={place() === 0}
              onClick={() => align(place() - 1)}
            >
              <Icon name="left" size={14} />
            </button>
            <span>
              Step {names()}, {place() + 1} of {steps()}
            </span>
            <button
              class="icon"
              aria-label="Next step"
              disabled={place() === steps() - 1}
              onClick={() => align(place() + 1)}
            >
              <Icon name="right" size={14} />
            </button>
          </span>
        </header>
        <Answer of={outlines} retry={retry}>
          {(answer) => {
            const shown = createMemo(() => {
              const { sides, outlines } = answer();
              return {
                step: { from: 0, to: Math.max(stepOf(props.a).dur, stepOf(props.b).dur) },
                sides: sides.map((side, at) => ({
                  title: at === 0 ? "A" : "B",
                  note: side.source.run,
                  source: side.source,
                  outline: outlines[at]!,
                  zero: Number(stepOf(at === 0 ? props.a : props.b).start - side.first),
                })),
              };
            });
            return (
              <Show when={shown()} keyed>
                {(shown) => (
                  <Suspense>
                    <TwoBoards sides={shown.sides} step={shown.step} />
                  </Suspense>
                )}
              </Show>
            );
          }}
        </Answer>
      </section>
    </Show>
  );
}
