/** Virtual time: it jumps from one event to the next. Times are ms since the epoch. */
export type Timeline = {
  now(): number;
  /** Calls `act` at a time. A time in the past means now. */
  at(time: number, act: () => void): void;
  wait(ms: number): Promise<void>;
  run(until: number, enough: () => boolean): Promise<void>;
};

type Event = { time: number; seq: number; act: () => void };

export function timelineFrom(start: number): Timeline {
  const heap: Event[] = [];
  let time = start;
  let seq = 0;

  const timeline: Timeline = {
    now: () => time,
    at(when, act) {
      seq += 1;
      // Clocks have whole ms.
      push(heap, { time: Math.max(Math.round(when), time), seq, act });
    },
    wait: (ms) => new Promise((resolve) => timeline.at(time + ms, resolve)),
    run: (until, enough) =>
      repeat(() => {
        const next = heap[0];
        if (!next || next.time > until || enough()) {
          if (!enough()) time = Math.max(time, until);
          return true;
        }
        pop(heap);
        time = next.time;
        next.act();
        return false;
      }),
  };
  return timeline;
}

const STEPS_A_TURN = 100;

/** Repeats a step until it answers `true`. Before each step, all promises that can settle have settled. */
function repeat(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let over = false;
    const stepOnce = (): void => {
      if (over) return;
      try {
        over = step();
        if (over) resolve();
      } catch (thrown) {
        over = true;
        reject(thrown);
      }
    };
    // The code under test waits only for promises, which Node settles between two immediates. A turn of Node's loop is expensive.
    const turn = (): void => {
      for (let i = 0; i < STEPS_A_TURN; i++) setImmediate(stepOnce);
      setImmediate(() => over || turn());
    };
    turn();
  });
}

function before(a: Event, b: Event): boolean {
  return a.time < b.time || (a.time === b.time && a.seq < b.seq);
}

// A binary heap. The packages that offer one are no smaller than these lines.
function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!before(event, heap[parent] as Event)) break;
    heap[at] = heap[parent] as Event;
    at = parent;
  }
  heap[at] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1] as Event, heap[child] as Event)) child += 1;
    if (!before(heap[child] as Event, last)) break;
    heap[at] = heap[child] as Event;
    at = child;
  }
  heap[at] = last;
}
