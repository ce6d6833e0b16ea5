// Shows what was asked once it is there: the layout first, figures when they are right, an error in plain words.
import { createResource, Show, type JSX, type Resource } from "solid-js";
import { ErrorState } from "./states";

/** Asks whenever what is asked changes; the old answer stays on screen until the new one is there. */
export function createAnswer<Q, A>(
  question: () => Q | undefined,
  ask: (question: Q) => Promise<A>,
): [Resource<A>, () => void] {
  const [answer, { refetch }] = createResource<A, Q>(question as () => Q, ask);
  return [answer, () => void refetch()];
}

export function Answer<A>(props: {
  of: Resource<A>;
  retry?: () => void;
  children: (answer: () => NonNullable<A>) => JSX.Element;
  waiting?: JSX.Element;
}): JSX.Element {
  return (
    <Show when={!props.of.error} fallback={<ErrorState error={props.of.error} retry={props.retry} />}>
      <Show when={props.of.latest} fallback={props.waiting}>
        {(answer) => props.children(answer)}
      </Show>
    </Show>
  );
}
