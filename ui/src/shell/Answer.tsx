// Shows what was asked once it is there: the layout first, figures when they are right, an error in plain words.
import { Show, type JSX } from "solid-js";
import type { AnswerState } from "../state/answer";
import { ErrorState } from "./states";

/** While a new answer is on its way, the former one holds its place, unseen; tools stay, and so does the focus. */
export function Answer<A>(props: {
  of: AnswerState<A>;
  retry?: () => void;
  children: (answer: () => NonNullable<A>) => JSX.Element;
  waiting?: JSX.Element;
}): JSX.Element {
  return (
    <Show when={!props.of.error} fallback={<ErrorState error={props.of.error} retry={props.retry} />}>
      <Show when={props.of.latest ?? props.of.former} fallback={props.waiting}>
        {(answer) => (
          <div class="answer" classList={{ former: props.of.latest === undefined }}>
            {props.children(answer)}
          </div>
        )}
      </Show>
    </Show>
  );
}
