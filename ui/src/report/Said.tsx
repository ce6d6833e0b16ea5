// A sentence that never breaks between a figure and its unit; what it says to ask next is a link.
import { For, Match, Switch, type JSX } from "solid-js";
import { pieceText } from "../format/say";
import type { Piece, Sentence, Target } from "../server/types";
import { pageOf } from "../shell/pages";
import { pageAddress } from "../state/route";

export function Said(props: { sentence: Sentence }): JSX.Element {
  return <For each={props.sentence}>{(piece) => <OnePiece piece={piece} />}</For>;
}

function OnePiece(props: { piece: Piece }): JSX.Element {
  return (
    <Switch fallback={pieceText(props.piece)}>
      <Match when={"figure" in props.piece}>
        <span class="unbroken">{pieceText(props.piece)}</span>
      </Match>
      <Match when={"separator" in props.piece}>
        <i>·</i>
      </Match>
      <Match when={"target" in props.piece && props.piece.target}>{(target) => <Link to={target()} />}</Match>
    </Switch>
  );
}

function Link(props: { to: Target }): JSX.Element {
  const page = () => pageOf(props.to.ask);
  return (
    <Switch fallback={props.to.ask}>
      <Match when={page()}>
        {(page) => (
          <a class="plain-link" href={pageAddress(page())}>
            {props.to.ask}
          </a>
        )}
      </Match>
    </Switch>
  );
}
