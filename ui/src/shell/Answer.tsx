// Shows what was asked once it is there: the layout first, figures when they are right, an error in plain words.
import { Show, type JSX } from "solid-js";
import type { AnswerState } from "../state/answer";
import { ErrorState } from "./states";

export function Answer<A>(props: {
  of: AnswerState<A>;
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
