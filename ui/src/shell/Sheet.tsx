// A dialog over the page; Esc and a click beside it close it.
import { onMount, type JSX } from "solid-js";
import { Icon } from "./icons";

export function Sheet(props: {
  title: string;
  close: () => void;
  children: JSX.Element;
  aside?: JSX.Element;
}): JSX.Element {
  let dialog!: HTMLDialogElement;
  onMount(() => dialog.showModal());
  return (
    <dialog
      ref={dialog}
      aria-label={props.title}
      onClose={() => props.close()}
      onClick={(event) => event.target === dialog && dialog.close()}
    >
      <header>
        <h2>{props.title}</h2>
        {props.aside}
        <span class="grow" />
        <button class="icon" aria-label="Close" onClick={() => dialog.close()}>
          <Icon name="close" />
        </button>
      </header>
      <div class="inside">{props.children}</div>
    </dialog>
  );
}
