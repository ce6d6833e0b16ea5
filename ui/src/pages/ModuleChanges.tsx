// The modules of both runs by nesting: which of them grew, and which shrank.
import { createMemo, type JSX } from "solid-js";
import { FlameGraph, type Fill } from "../charts/FlameGraph";
import type { FlameNode } from "../charts/flame";
import { moduleFlame } from "../charts/module_flame";
import { figureText, numberOf } from "../format/number";
import { signed } from "../format/signed";
import type { ChangeTable } from "./comparison";

/** Text stays readable on the strongest color. */
const STRONGEST = 0.5;
const FAINTEST = 0.14;
const UNCHANGED: Fill = { token: "ink", strength: 0.1 };

export function ModuleChanges(props: { table: ChangeTable }): JSX.Element {
  const flame = createMemo(() =>
    moduleFlame(
      props.table.rows.map((row) => ({
        path: row.name ?? "",
        a: numberOf(row.a) ?? 0,
        b: numberOf(row.b) ?? 0,
        isNoise: row.noise === "within noise",
      })),
    ),
  );
  const changeOf = (node: FlameNode) => {
    const { a, b } = flame().sides.get(node)!;
    return b - a;
  };
  const largest = createMemo(() =>
    [...flame().sides.keys()].reduce((most, node) => Math.max(most, Math.abs(changeOf(node))), 1),
  );
  const fill = (node: FlameNode): Fill => {
    const by = changeOf(node);
    if (by === 0 || flame().sides.get(node)?.isNoise) return UNCHANGED;
    // Small modules change by little; a square root keeps them in sight.
    const strength = FAINTEST + (STRONGEST - FAINTEST) * Math.sqrt(Math.abs(by) / largest());
    return { token: by < 0 ? "less" : "more", strength };
  };
  const facts = (node: FlameNode) => {
    const { a, b, isNoise } = flame().sides.get(node)!;
    const time = (ns: number) => figureText("ns", Math.round(ns));
    const change = b === a ? "no change" : signed(b - a, time);
    return `A ${time(a)} · B ${time(b)} · ${change}${isNoise && b !== a ? ", within noise" : ""}`;
  };
  return (
    <section class="panel">
      <header>
        <h2>Modules by nesting</h2>
        <span class="what">
          {[props.table.what, "time per step, as wide as the longer of A and B"].filter(Boolean).join(", ")}
        </span>
        <span class="more keys-row">
          <span>
            <i class="sw less" /> faster in B
          </span>
          <span>
            <i class="sw more" /> slower in B
          </span>
        </span>
      </header>
      <div class="chart">
        <FlameGraph
          tree={flame().root}
          rootLabel="all modules"
          label="Modules by time per step in A and B; the table Modules has the same times"
          fill={fill}
          facts={facts}
        />
      </div>
    </section>
  );
}
