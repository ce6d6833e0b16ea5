// Keeps only the rows on screen in the page, however many there are.
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from "@tanstack/virtual-core";
import { createEffect, createSignal, onCleanup, onMount } from "solid-js";

export type VirtualRows = { items: () => VirtualItem[]; height: () => number; show: (index: number) => void };

export function createVirtualRows(
  scroller: () => HTMLElement,
  count: () => number,
  sizeOf: (index: number) => number,
): VirtualRows {
  const [version, setVersion] = createSignal(0);
  const options = () => ({
    count: count(),
    getScrollElement: scroller,
    estimateSize: sizeOf,
    overscan: 12,
    scrollPaddingStart: 32,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => setVersion((version) => version + 1),
  });
  const virtualizer = new Virtualizer<HTMLElement, Element>({ ...options(), count: 0 });
  onMount(() => onCleanup(virtualizer._didMount()));
  createEffect(() => {
    virtualizer.setOptions(options());
    virtualizer._willUpdate();
    virtualizer.measure();
    setVersion((version) => version + 1);
  });
  return {
    items: () => (version(), virtualizer.getVirtualItems()),
    height: () => (version(), virtualizer.getTotalSize()),
    show: (index) => virtualizer.scrollToIndex(index, { align: "auto" }),
  };
}
