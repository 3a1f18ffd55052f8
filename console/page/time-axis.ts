import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { clock } from "./clock.ts";
import { listenToKeys } from "./parts/keys.ts";
import type { Scale } from "./parts/lane-chart.tsx";
import { LONGEST, moved, type Range, timeAt, zoomed } from "./time-buckets.ts";
import { HOUR } from "./times.ts";

/** How long the range must stay the same before its jobs are read and the address names it, ms. */
const SETTLED_MS = 400;

type Movable = Scale & {
  readonly show: (range: Range) => void;
  readonly zoom: (factor: number, around?: number) => void;
  readonly move: (share: number) => void;
};

export type Axis = Movable & {
  /** The range for which jobs are read. It follows the shown range when that has settled. */
  readonly settled: Range;
};

export function rangeIn(from = "", to = ""): Range | undefined {
  const range = { from: Date.parse(from), to: Date.parse(to) };
  return range.to > range.from && range.to - range.from <= LONGEST ? range : undefined;
}

/** The shown range is outside of the components' states, so that a movement only moves the charts. `name` gets a settled range. */
export function useAxis(asked: Range | undefined, name: (range: Range) => void): Axis {
  const first = asked ?? { from: clock() - HOUR, to: clock() + 24 * HOUR };
  const [settled, setSettled] = useState(first);
  const naming = useRef(name);
  naming.current = name;
  const named = useRef<Range | undefined>(undefined);
  const [axis] = useState(() =>
    createMovable(first, (range) => {
      setSettled(range);
      named.current = range;
      naming.current(range);
    }),
  );
  // The user may go back to an earlier address, or follow a link to another range.
  const [from, to] = [asked?.from, asked?.to];
  useEffect(() => {
    if (from === undefined || to === undefined) return;
    const known = [named.current, axis.get()];
    if (known.some((range) => range?.from === from && range.to === to)) return;
    axis.show({ from, to });
  }, [from, to, axis]);
  useEffect(() => axis.stop, [axis]);
  return { ...axis, settled };
}

function createMovable(
  first: Range,
  onSettled: (range: Range) => void,
): Movable & { readonly stop: () => void } {
  let shown = first;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const followers = new Set<(range: Range) => void>();
  function show(range: Range): void {
    shown = range;
    for (const draw of followers) draw(range);
    clearTimeout(timer);
    timer = setTimeout(onSettled, SETTLED_MS, range);
  }
  const middle = () => (shown.from + shown.to) / 2;
  return {
    get: () => shown,
    follow(draw) {
      followers.add(draw);
      return () => followers.delete(draw);
    },
    show,
    zoom: (factor, around = middle()) => show(zoomed(shown, factor, around)),
    move: (share) => show(moved(shown, share)),
    stop: () => clearTimeout(timer),
  };
}

export function useAxisKeys({ zoom, move, show, get }: Movable): void {
  useEffect(() => {
    const toNow = () => {
      const { from, to } = get();
      show({ from: clock() - (to - from) / 4, to: clock() + ((to - from) * 3) / 4 });
    };
    const handlers = {
      "+": () => zoom(0.5),
      "Shift++": () => zoom(0.5),
      "-": () => zoom(2),
      ArrowLeft: () => move(-0.25),
      ArrowRight: () => move(0.25),
      n: toNow,
    };
    return listenToKeys(handlers);
  }, [zoom, move, show, get]);
}

/** Lets the wheel zoom around the pointer, and a drag move the range. */
export function useDragAndWheel(place: RefObject<HTMLElement>, { get, show, zoom }: Movable): void {
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const timeOf = (x: number) => timeAt(x, element.getBoundingClientRect(), get());
    const stop = new AbortController();
    zoomByWheel(element, (factor, x) => zoom(factor, timeOf(x)), stop.signal);
    const moveBy = (by: number) => {
      const { from, to } = get();
      show({ from: Math.round(from + by), to: Math.round(to + by) });
    };
    followDrag(element, (before, after) => moveBy(timeOf(before) - timeOf(after)), stop.signal);
    return () => stop.abort();
  }, [place, get, show, zoom]);
}

function zoomByWheel(
  element: HTMLElement,
  zoom: (factor: number, x: number) => void,
  signal: AbortSignal,
): void {
  const wheel = (event: WheelEvent) => {
    // A wheel with Shift or sideways scrolls the page, as everywhere.
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, event.clientX);
  };
  element.addEventListener("wheel", wheel, { passive: false, signal });
}

function followDrag(
  element: HTMLElement,
  drag: (before: number, after: number) => void,
  signal: AbortSignal,
): void {
  let last: number | undefined;
  let hasMoved = false;
  const down = ({ clientX }: PointerEvent) => {
    last = clientX;
    hasMoved = false;
  };
  const move = ({ clientX, buttons }: PointerEvent) => {
    if (last === undefined || buttons === 0) return;
    if (Math.abs(clientX - last) < 3 && !hasMoved) return;
    const before = last;
    hasMoved = true;
    last = clientX;
    drag(before, clientX);
  };
  const up = () => {
    last = undefined;
  };
  // The click at the end of a drag follows no link.
  const click = (event: MouseEvent) => {
    if (hasMoved) {
      event.stopPropagation();
      event.preventDefault();
    }
    hasMoved = false;
  };
  element.addEventListener("pointerdown", down, { signal });
  element.addEventListener("click", click, { capture: true, signal });
  window.addEventListener("pointermove", move, { signal });
  window.addEventListener("pointerup", up, { signal });
}
