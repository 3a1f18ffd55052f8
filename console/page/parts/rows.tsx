import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

type Props<Row> = {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly children: (row: Row) => ComponentChildren;
  /** The height of a row before it is measured, px. */
  readonly height: number;
  readonly label: string;
  readonly onEnd?: () => void;
  /** Whether the list shows its last rows, as new ones come, until the user scrolls up. */
  readonly isFollowed?: boolean;
};

/** A scrolling list that draws only the rows in sight, so that a list of a million rows stays fast. */
export function Rows<Row>({ rows, keyOf, children, height, label, onEnd, isFollowed }: Props<Row>) {
  const place = useRef<HTMLElement>(null);
  const list = useVirtualList(place, rows.length, (index) => keyOf(rows[index] as Row), height);
  const noteEnd = useFollowedEnd(list, rows, height, isFollowed === true);
  const shown = list.getVirtualItems();
  const last = shown.at(-1)?.index ?? -1;
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - 1) onEnd?.();
  }, [last, rows.length, onEnd]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no pointer scrolls the list with the arrow keys
    <section class="rows" ref={place} aria-label={label} tabIndex={0} onScroll={noteEnd}>
      <ul class="rows-all" style={{ height: `${list.getTotalSize()}px` }}>
        {shown.map(({ index, key, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <li
              key={String(key)}
              ref={list.measureElement}
              data-index={index}
              aria-setsize={rows.length}
              aria-posinset={index + 1}
              class="row"
              style={{ transform: `translateY(${start}px)` }}
            >
              {children(row)}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

type List = Virtualizer<HTMLElement, HTMLLIElement>;

function useVirtualList(
  place: RefObject<HTMLElement>,
  count: number,
  getItemKey: (index: number) => string,
  height: number,
): List {
  const [, draw] = useReducer((drawn: number) => drawn + 1, 0);
  const options = {
    count,
    getScrollElement: () => place.current,
    getItemKey,
    estimateSize: () => height,
    overscan: 8,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => draw(undefined),
  };
  const [list] = useState(() => new Virtualizer<HTMLElement, HTMLLIElement>(options));
  list.setOptions(options);
  useLayoutEffect(() => list._didMount(), [list]);
  useLayoutEffect(() => list._willUpdate());
  return list;
}

function useFollowedEnd<Row>(list: List, rows: readonly Row[], height: number, isFollowed: boolean) {
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (isFollowed && isAtEnd.current && rows.length > 0)
      list.scrollToIndex(rows.length - 1, { align: "end" });
  }, [list, rows, isFollowed]);
  return ({ currentTarget }: { currentTarget: HTMLElement }): void => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget;
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 2 * height;
  };
}
