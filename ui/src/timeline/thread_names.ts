// What a track is called: the name that the trace gives it, else what ran there, with its number beside it.
import type { Track } from "../server/types";

/** A row of the view `thread_roles`. */
export type Role = { role: string; from: string; thread: string };

/** What tells a role, in words for people. */
const SIGNS: Record<string, string> = {
  step_marks: "the profiler marks steps on it",
  process_id: "it has the number of its process",
  most_operators: "most operators of its process start on it",
  backward_operators: "backward operators run on it",
  thread_name: "its name says so",
  python_frames: "the loop of the DataLoader runs on it",
  pin_memory_operators: "it pins memory",
};

/** Names that say no more than which program it is. */
const PROGRAM = /^(python[\d.]*|pytest|ipython[\d.]*)$/;

export type TrackWords = { title: string; note: string; hint: string };

/** `thread 123 (python)` is `main thread` with `thread 123` beside it where that is known. */
export function trackWords(track: Track, role?: Role): TrackWords {
  const hint = role ? `${role.role}: ${SIGNS[role.from] ?? role.from}` : "";
  if (track.kind === "stream")
    return { title: track.stream === null ? track.name : `stream ${track.stream}`, note: "", hint };
  if (track.kind === "path") return { title: track.name, note: "what each step waited for", hint };
  if (track.name === "") return { title: role?.role ?? `track ${track.track}`, note: "", hint };
  const match = /^(.*?)\s*\(([^()]*)\)$/.exec(track.name);
  const [first, inside] = match ? [match[1] || track.name, match[2] ?? ""] : [track.name, ""];
  if (!role) return { title: first, note: inside, hint };
  const isNumber = /^thread -?\d+$/.test(first);
  // A name of its own goes first; what ran there stands beside it.
  if (!isNumber) return { title: first, note: [role.role, role.thread].filter(Boolean).join(" · "), hint };
  if (inside !== "" && !PROGRAM.test(inside)) return { title: inside, note: `${role.role} · ${first}`, hint };
  return { title: role.role, note: first, hint };
}

/** Threads in the order in which a program is read. */
export function roleOrder(role: Role | undefined): number {
  const place = ["main thread", "autograd thread", "pin-memory thread", "DataLoader worker"].indexOf(role?.role ?? "");
  return place < 0 ? 4 : place;
}
