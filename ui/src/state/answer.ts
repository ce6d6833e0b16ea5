// Asks whenever what is asked changes. The old answer stays until the new one is there, so that pages do not flicker;
// resources of Solid would take whole pages away meanwhile.
import { batch, createComputed, createSignal, on, onCleanup } from "solid-js";
import { isAborted } from "../server/client";

export type AnswerState<A> = {
  /** The last answer; undefined before the first. */
  readonly latest: A | undefined;
  /** Why the last question has no answer. */
  readonly error: unknown;
};

/** `ask` gets a signal that tells when the question was left behind. */
export function createAnswer<Q, A>(
  question: () => Q | undefined,
  ask: (question: Q, signal: AbortSignal) => Promise<A>,
): [AnswerState<A>, () => void] {
  const [latest, setLatest] = createSignal<A>();
  const [error, setError] = createSignal<unknown>();
  const [tries, setTries] = createSignal(0);
  createComputed(
    on([question, tries], ([asked]) => {
      if (asked === undefined) return;
      const stop = new AbortController();
      onCleanup(() => stop.abort());
      ask(asked, stop.signal).then(
        (answer) => !stop.signal.aborted && batch(() => (setError(undefined), setLatest(() => answer))),
        (failure: unknown) => !stop.signal.aborted && !isAborted(failure) && setError(() => failure),
      );
    }),
  );
  const state: AnswerState<A> = {
    get latest() {
      return latest();
    },
    get error() {
      return error();
    },
  };
  return [state, () => setTries((times) => times + 1)];
}
