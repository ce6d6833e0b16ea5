// The rows of a board, and what folds and pins them; both live in the address.
import { createMemo } from "solid-js";
import type { TimelineOutline } from "../server/types";
import { choice, choose } from "../state/route";
import { source as recording } from "../state/session";
import type { Curves } from "./ask_curves";
import { pathTrack } from "./path";
import { layOut, type RankLanes, type RowOptions } from "./rows";

const TALL_SCREEN_PX = 1000;
const [LANE_PX, TALL_LANE_PX] = [17, 23];

/** What rows depend on besides the address. */
export type RowSource = Pick<RowOptions, "pythonLanes" | "subLanes" | "roleOf"> & {
  outline: TimelineOutline;
  ranks: RankLanes[] | undefined;
  room: () => number;
  isPathShown: () => boolean;
  curves: Curves;
};

export function createRows({ outline, ranks, room, isPathShown, curves, pythonLanes, subLanes, roleOf }: RowSource) {
  const pinned = createMemo(() => (choice("pin") ?? "").split(",").filter(Boolean).map(Number));
  const toggled = createMemo(() => new Set((choice("fold") ?? "").split(",").filter(Boolean)));
  const layout = createMemo(() =>
    layOut(outline, {
      toggled: toggled(),
      pinned: pinned(),
      room: room(),
      ranks,
      pythonLanes,
      subLanes,
      roleOf,
      path: isPathShown() ? pathTrack : undefined,
      curves: curves.all(),
      countersLeftOut: curves.countersLeftOut(),
      deviceName: (device) => recording()?.devices[device] ?? "",
      laneHeight: window.innerHeight >= TALL_SCREEN_PX ? TALL_LANE_PX : LANE_PX,
    }),
  );
  return {
    layout,
    togglePin: (track: number): void => {
      const next = pinned().includes(track) ? pinned().filter((other) => other !== track) : [...pinned(), track];
      choose({ pin: next.join(",") || undefined });
    },
    toggleFold: (key: string): void => {
      const next = new Set(toggled());
      if (!next.delete(key)) next.add(key);
      choose({ fold: [...next].join(",") || undefined });
    },
  };
}
