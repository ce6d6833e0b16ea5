// Where the time of operators comes from in the code: call stacks, or the modules of the model.
import { createMemo, Show, type JSX } from "solid-js";
import { FlameGraph } from "../charts/FlameGraph";
import { branching, flameTree, type FlameNode, type Weighed } from "../charts/flame";
import { figureText, numberOf } from "../format/number";
import { analysis } from "../server/questions";
import type { Report } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { Segments } from "../report/Segments";
import { cellNamed, tableNamed } from "../report/table";
import { choice, choose } from "../state/route";
import { run, scope } from "../state/session";

const STACKS = 20_000;

type Weight = "device_self_ns" | "host_self_ns";

export function Stacks(props: { frames: "calls" | "modules" }): JSX.Element {
  const weight = (): Weight => (choice("weight") === "host" ? "host_self_ns" : "device_self_ns");
  const question = createMemo(() => {
    const [name, parameters] = [run()?.run, scope()];
    return name === undefined || !parameters
      ? undefined
      : { run: name, parameters: { ...parameters, group: "stack", limit: STACKS } };
  });
  const [report, retry] = createAnswer(question, (asked) => analysis(asked.run, "ops", asked.parameters));
  const hasStacks = (report: Report) => weighed(report, "host_self_ns").some((row) => row.stack !== null);
  return (
    <section class="stacks">
      <header>
        <h2>{props.frames === "calls" ? "Call stacks" : "Modules by nesting"}</h2>
        <span class="faint">
          {props.frames === "calls"
            ? "callers at the top; _call_impl and built-in frames hidden"
            : "forward work below the module that calls it"}
        </span>
        <span class="grow" />
        <Segments
          label="Time"
          options={[
            ["device_self_ns", "device"],
            ["host_self_ns", "host"],
          ]}
          value={weight()}
          choose={(value) => choose({ weight: value === "host_self_ns" ? "host" : undefined })}
        />
      </header>
      <div class="stacks-frame" role="region" tabindex="0" aria-label="Call stacks">
        <Answer of={report} retry={retry}>
          {(report) => {
            const tree = createMemo(() => flameTree(weighed(report(), weight()), props.frames));
            const begin = createMemo(() => branching(tree()));
            return (
              <Show
                when={hasStacks(report())}
                fallback={
                  <p class="nothing">
                    No Python frames recorded. Call <code>profile(..., with_stack=True)</code> to record them.
                  </p>
                }
              >
                <Show when={tree().total > 0} fallback={<p class="nothing">No operator has time of this kind.</p>}>
                  <FlameGraph
                    tree={begin().from}
                    label="Call stacks by time; the table above groups the same time by stack"
                    fill={(_, depth) => ({
                      token: weight() === "device_self_ns" ? "kernel" : "cpu_exec",
                      strength: 0.28 + 0.18 * ((depth * 7) % 5) * 0.25,
                    })}
                    facts={(node) => timesOf(node, begin().from.total)}
                    rootLabel={`all ${weight() === "device_self_ns" ? "device" : "host"} time${begin().folded > 0 ? `, below ${begin().folded} shared frames` : ""}`}
                  />
                </Show>
              </Show>
            );
          }}
        </Answer>
      </div>
    </section>
  );
}

function timesOf(node: FlameNode, all: number): string {
  const [total, self] = [node.total, node.self].map((ns) => figureText("ns", Math.round(ns)));
  return `${total} · ${figureText("ratio", node.total / Math.max(1, all))} · self ${self}`;
}

function weighed(report: Report, weight: Weight): Weighed[] {
  const table = tableNamed(report, "rows");
  return (table?.rows ?? []).map((_, row) => {
    const stack = cellNamed(table, row, "stack");
    return {
      stack: typeof stack === "string" ? stack : null,
      name: String(cellNamed(table, row, "name")),
      weight: numberOf(cellNamed(table, row, weight)) ?? 0,
    };
  });
}
