// Asks whenever what is asked changes. What was answered before is no answer to it: it only holds the place on the page
// until the new one is there; resources of Solid would take whole pages away meanwhile.
import { batch, createComputed, createSignal, on, onCleanup } from "solid-js";
import { isAborted } from "../server/client";

export type AnswerState<A> = {
  /** The answer to what is asked now; undefined until it is there. */
  readonly latest: A | undefined;
  /** The answer to what was asked before, while the new one is on its way. It may hold a place, but not be read. */
  readonly former: A | undefined;
  /** Why what is asked now has no answer. */
  readonly error: unknown;
};

/** `ask` gets a signal that tells when the question was left behind. */
export function createAnswer<Q, A>(
  question: () => Q | undefined,
  ask: (question: Q, signal: AbortSignal) => Promise<A>,
): [AnswerState<A>, () => void] {
  const [known, setKnown] = createSignal<A>();
  const [isFormer, setIsFormer] = createSignal(false);
  const [error, setError] = createSignal<unknown>();
  const [tries, setTries] = createSignal(0);
  const set = (answer: A | undefined, failure: unknown) =>
    batch(() => (setIsFormer(false), setKnown(() => answer), setError(() => failure)));
  createComputed(
    on([question, tries], ([asked]) => {
      if (asked === undefined) {
        set(undefined, undefined);
        return;
      }
      batch(() => (setIsFormer(true), setError(undefined)));
      const stop = new AbortController();
      onCleanup(() => stop.abort());
      ask(asked, stop.signal).then(
        (answer) => !stop.signal.aborted && set(answer, undefined),
        (failure: unknown) => !stop.signal.aborted && !isAborted(failure) && set(undefined, failure),
      );
    }),
  );
  const state: AnswerState<A> = {
    get latest() {
      return isFormer() ? undefined : known();
    },
    get former() {
      return isFormer() ? known() : undefined;
    },
    get error() {
      return error();
    },
  };
  return [state, () => setTries((times) => times + 1)];
}
