// Fetches and decodes lanes in a thread of its own.
import { answerTo, isAborted, OutdatedError, ServerError } from "../server/answer_to";
import type { Problem } from "../server/types";
import { decodeLanes } from "./decode_lanes";
import type { Lanes } from "./lanes";

/** A question, or that nobody waits for its answer any more. */
export type LaneQuestion =
  | { id: number; isGivenUp: true }
  | { id: number; isGivenUp: false; address: string; revision: number; zero: number; from: number; to: number; width: number };
export type LaneAnswer =
  | { id: number; lanes: Lanes }
  | { id: number; lanes: undefined; error: "outdated" }
  | { id: number; lanes: undefined; error: { problem: Problem; status: number } };

const open = new Map<number, AbortController>();

onmessage = ({ data }: MessageEvent<LaneQuestion>) => {
  if (data.isGivenUp) open.get(data.id)?.abort();
  else void answer(data);
};

async function answer({ id, address, revision, zero, from, to, width }: Extract<LaneQuestion, { isGivenUp: false }>) {
  const stop = new AbortController();
  open.set(id, stop);
  try {
    // There are many lanes: what somebody waits for goes past them to the few connections of a browser.
    const response = await answerTo(address, { signal: stop.signal, priority: "low" }, revision);
    const lanes = decodeLanes(new Uint8Array(await response.arrayBuffer()), zero, from, to, width);
    // Columns change hands; several may lie in one piece of memory.
    const columns = Object.values(lanes).filter((column) => ArrayBuffer.isView(column));
    send({ id, lanes }, [...new Set(columns.map((column) => column.buffer as ArrayBuffer))]);
  } catch (error) {
    if (error instanceof OutdatedError) send({ id, lanes: undefined, error: "outdated" }, []);
    if (isAborted(error)) return;
    const { problem, status } =
      error instanceof ServerError ? error : ServerError.of(error instanceof Error ? error.message : String(error));
    send({ id, lanes: undefined, error: { problem, status } }, []);
  } finally {
    open.delete(id);
  }
}

function send(answer: LaneAnswer, transfer: ArrayBuffer[]): void {
  postMessage(answer, { transfer });
}
