import { elementScroll, observeElementOffset, observeElementRect, Virtualizer, type VirtualItem } from "@tanstack/virtual-core";
import { useEffect, useRef, useState } from "preact/hooks";

export interface VirtualRows {
  items: VirtualItem[];
  height: number;
  scrollTo: (row: number) => void;
}

/** The rows of a long list that its box shows. */
export function useVirtualRows(box: { current: HTMLElement | null }, count: number, rowHeight: number): VirtualRows {
  const [, redraw] = useState(0);
  const held = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  const options = {
    count,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw((number) => number + 1),
  };
  held.current ??= new Virtualizer<HTMLElement, HTMLElement>(options);
  const virtualizer = held.current;
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), []);
  useEffect(() => virtualizer._willUpdate());
  return {
    items: virtualizer.getVirtualItems(),
    height: virtualizer.getTotalSize(),
    scrollTo: (row) => virtualizer.scrollToIndex(row),
  };
}
