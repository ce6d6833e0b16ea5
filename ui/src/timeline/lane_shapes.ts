// What the answers tell about the lanes of tracks: how many hold Python frames, and where spans overlap.
import { createSignal } from "solid-js";
import { pythonLanes, type Lanes } from "./lanes";

export function createLaneShapes() {
  const [python, setPython] = createSignal<ReadonlyMap<number, number>>(new Map());
  /** The most that depths have needed so far: rows do not shrink while somebody looks at them. */
  const [subLanes, setSubLanes] = createSignal<ReadonlyMap<number, ReadonlyMap<number, number>>>(new Map());
  return {
    pythonLanes: (track: number): number => python().get(track) ?? 0,
    subLanes: (track: number): ReadonlyMap<number, number> | undefined => subLanes().get(track),
    /** Takes note of what is known of a track. */
    note(track: number, { whole, current }: { whole?: Lanes; current?: Lanes }): void {
      const lanes = whole ? pythonLanes(whole) : 0;
      if ((python().get(track) ?? 0) !== lanes) setPython(new Map(python()).set(track, lanes));
      const known = subLanes().get(track);
      const more = [...(current?.subLanes ?? [])].filter(([depth, lanes]) => lanes > (known?.get(depth) ?? 1));
      if (more.length > 0) setSubLanes(new Map(subLanes()).set(track, new Map([...(known ?? []), ...more])));
    },
  };
}
