// One rank or several on the axis, and what of that is not as it seems.
import { Show, type JSX } from "solid-js";
import { CommunicationKeys } from "../report/cells";
import { Segments } from "../report/Segments";
import { choice, choose } from "../state/route";
import { ranks } from "../state/session";
import type { SeveralRanks } from "./ask_ranks";

export function RanksBar(props: { several: SeveralRanks | undefined }): JSX.Element {
  const apart = () => props.several?.ranks.filter((rank) => !rank.isAligned).map((rank) => rank.rank) ?? [];
  const words = () => {
    const { several } = props;
    if (!several) return "";
    const shown = several.ranks.length;
    return shown < several.of && choice("ranks") === "all"
      ? `${shown} of ${several.of}: those that delay others most and least`
      : `${shown} of ${several.of}`;
  };
  const show = (value: string) => choose({ ranks: value === "one" ? undefined : "all", sel: undefined });
  return (
    <Show when={ranks().length > 1}>
      <span class="caption">Ranks</span>
      <Segments
        label="Ranks"
        options={[
          ["one", "one"],
          ["several", "several"],
        ]}
        value={props.several ? "several" : "one"}
        choose={show}
      />
      <Show when={choice("ranks") && !props.several}>
        <span class="muted" role="status">
          No other rank of this run matches “{choice("ranks")}”
        </span>
      </Show>
      <Show when={props.several}>
        <span class="muted" role="status">
          {words()}
          <Show when={apart().length > 0}>
            <span
              class="doubt"
              title={`No collective in common with the selected rank, aligned by first steps: ${apart().join(", ")}`}
            >
              {" "}
              △ clocks not aligned
            </span>
          </Show>
        </span>
        <span class="keys-row" aria-hidden="true">
          <CommunicationKeys />
        </span>
      </Show>
    </Show>
  );
}
