// Asks for lanes through a worker: to fetch and decode them is not the business of the thread that draws.
import { counted, OutdatedError, ServerError } from "../server/client";
import { laneAddress, type SourceKey } from "../server/questions";
import type { LaneAnswer, LaneQuestion } from "./lane_worker";
import type { Lanes } from "./lanes";

const waiting = new Map<number, { resolve: (lanes: Lanes) => void; reject: (error: unknown) => void }>();
let worker: Worker | undefined;
let questions = 0;

export function askLanes(
  source: SourceKey,
  track: number,
  zero: number,
  from: number,
  to: number,
  width: number,
  signal?: AbortSignal,
): Promise<Lanes> {
  const [first, last] = [Math.floor(from), Math.ceil(to)];
  const address = laneAddress(source, track, Math.max(0, zero + first), zero + last, width);
  const id = ++questions;
  worker ??= startWorker();
  const send = (question: LaneQuestion) => worker!.postMessage(question, []);
  return counted(
    () =>
      new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        signal?.addEventListener("abort", () => {
          if (!waiting.delete(id)) return;
          send({ id, isGivenUp: true });
          reject(signal.reason);
        });
        // Addresses are relative to the page, not to the worker.
        const absolute = new URL(address, document.baseURI).href;
        const { revision } = source;
        send({ id, isGivenUp: false, address: absolute, revision, zero, from: first, to: last, width });
      }),
  );
}

function startWorker(): Worker {
  const started = new Worker(new URL("./lane_worker.ts", import.meta.url), { type: "module" });
  started.addEventListener("message", ({ data }: MessageEvent<LaneAnswer>) => {
    const asker = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.lanes) asker?.resolve(data.lanes);
    else if (data.error === "outdated") asker?.reject(new OutdatedError());
    else asker?.reject(new ServerError(data.error.problem, data.error.status));
  });
  started.addEventListener("error", () => {
    const message = "the timeline worker did not start; reload the page";
    for (const { reject } of waiting.values()) reject(ServerError.of(message));
    waiting.clear();
  });
  return started;
}
