import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { listenToKeys } from "../parts/keys.ts";
import { Lane, NO_BUCKETS } from "../parts/lane.tsx";
import { AXIS_EDGE, LaneChart, type Scale } from "../parts/lane-chart.tsx";
import { Failure, Loaded } from "../parts/loaded.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { TopicField } from "../parts/topic-field.tsx";
import { useTopics } from "../reads.ts";
import { now } from "../state.ts";
import {
  type Buckets,
  barsIn,
  countsText,
  KIND_WORDS,
  KINDS,
  LONGEST,
  moved,
  NO_COUNTS,
  type Range,
  stepOf,
  timeAt,
  zoomed,
} from "../time-buckets.ts";
import { useTimeline } from "../timeline.ts";
import { durationText, HOUR, isoAt, MINUTE } from "../times.ts";
import "./time.css";

/** The ranges that a button sets: from and to, ms from now. */
const RANGES = [
  ["an hour ago to a day ahead", -HOUR, 24 * HOUR],
  ["last hour", -HOUR, 0],
  ["next 15 minutes", -MINUTE, 15 * MINUTE],
  ["next hour", -MINUTE, HOUR],
] as const;

/** How long the range must stay the same before its jobs are read and the address names it, ms. */
const SETTLED_MS = 400;

/** A time axis with one lane for each topic. */
export function TimeView() {
  const [query, change] = useSearch();
  const topics = useTopics();
  const asked = rangeIn(query.from, query.to);
  const axis = useAxis(asked, (range) => change({ from: isoAt(range.from), to: isoAt(range.to) }));
  useAxisKeys(axis);
  return (
    <>
      <h1>Time</h1>
      <div class="filters">
        <TopicField value={query.topic ?? ""} none="all topics" onChange={(topic) => change({ topic })} />
        <div class="buttons">
          {RANGES.map(([name, begin, end]) => (
            <button
              key={name}
              type="button"
              onClick={() => axis.show({ from: Date.now() + begin, to: Date.now() + end })}
            >
              {name}
            </button>
          ))}
          <button type="button" onClick={() => axis.zoom(0.5)} aria-label="Show a shorter range">
            +
          </button>
          <button type="button" onClick={() => axis.zoom(2)} aria-label="Show a longer range">
            −
          </button>
          <button type="button" onClick={() => axis.move(-0.5)} aria-label="Move to earlier times">
            ←
          </button>
          <button type="button" onClick={() => axis.move(0.5)} aria-label="Move to later times">
            →
          </button>
        </div>
      </div>
      <Loaded query={topics} what="the topics">
        {(found) => {
          const names = found
            .map(({ topic }) => topic)
            .filter((topic) => !query.topic || topic === query.topic);
          return <Lanes topics={names} axis={axis} />;
        }}
      </Loaded>
    </>
  );
}

/** The range in the address, or from an hour ago to a day ahead. */
function rangeIn(from = "", to = ""): Range | undefined {
  const range = { from: Date.parse(from), to: Date.parse(to) };
  return range.to > range.from && range.to - range.from <= LONGEST ? range : undefined;
}

type Axis = Scale & {
  /** The range for which jobs are read. It follows the shown range when that has settled. */
  readonly settled: Range;
  readonly show: (range: Range) => void;
  readonly zoom: (factor: number, around?: number) => void;
  readonly move: (share: number) => void;
};

/** Keeps the shown range outside of the components' states, so that a movement only moves the charts. */
function useAxis(asked: Range | undefined, name: (range: Range) => void): Axis {
  const first = asked ?? { from: Date.now() - HOUR, to: Date.now() + 24 * HOUR };
  const [settled, setSettled] = useState(first);
  const shown = useRef(first);
  const followers = useRef(new Set<(range: Range) => void>());
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const naming = useRef(name);
  naming.current = name;
  /** The range that this view has written into the address. */
  const named = useRef<Range | undefined>(undefined);
  // The user may go back to an earlier address, or follow a link to another range.
  const [from, to] = [asked?.from, asked?.to];
  const axis = useMemo(() => {
    function show(range: Range): void {
      shown.current = range;
      for (const draw of followers.current) draw(range);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        setSettled(range);
        named.current = range;
        naming.current(range);
      }, SETTLED_MS);
    }
    const middle = () => (shown.current.from + shown.current.to) / 2;
    return {
      get: () => shown.current,
      follow(draw: (range: Range) => void) {
        followers.current.add(draw);
        return () => followers.current.delete(draw);
      },
      show,
      zoom: (factor: number, around = middle()) => show(zoomed(shown.current, factor, around)),
      move: (share: number) => show(moved(shown.current, share)),
    };
  }, []);
  useEffect(() => {
    if (from === undefined || to === undefined) return;
    if (from === named.current?.from && to === named.current.to) return;
    if (from === shown.current.from && to === shown.current.to) return;
    axis.show({ from, to });
  }, [from, to, axis]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return { ...axis, settled };
}

function useAxisKeys({ zoom, move, show, get }: Axis): void {
  useEffect(() => {
    const toNow = () => {
      const { from, to } = get();
      show({ from: Date.now() - (to - from) / 4, to: Date.now() + ((to - from) * 3) / 4 });
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

/** Jobs are drawn one by one if the range has at most so many, and is at most so long. */
const DRAWN_JOBS = 200;
const DRAWN_SPAN = 15 * MINUTE;

function Lanes({ topics, axis }: { topics: readonly string[]; axis: Axis }) {
  const { settled } = axis;
  const step = stepOf(settled);
  const { counts, jobs, status, isReading, error, again } = useTimeline(topics, settled, step);
  const place = useRef<HTMLDivElement>(null);
  useDragAndWheel(place, axis);
  const areJobsDrawn = settled.to - settled.from <= DRAWN_SPAN && jobs.length <= DRAWN_JOBS;
  const unread = error !== undefined ? "not counted" : isReading ? "counting …" : undefined;
  return (
    <>
      <p role="status">
        <Time at={settled.from} show="time" /> until <Time at={settled.to} show="time" />; one bar is{" "}
        {durationText(step)}. {status}
      </p>
      <p class="quiet">
        {areJobsDrawn
          ? "Each dot is a job. Point at it to see its key. A click shows the job."
          : "Each lane has its own scale. Point at a bar to see its numbers. A click shows all jobs of its topic and its time, also the cancelled ones."}{" "}
        <a href={addresses.schedules}>Schedules</a> will add jobs at their next occurrences, which are not
        counted here. Turn the wheel to zoom, and drag to move.
      </p>
      {error !== undefined && <Failure error={error} what="the jobs of this range" again={again} />}
      <div class="lanes" style={{ "--edge": `${AXIS_EDGE}px` }}>
        <div class="lanes-place" ref={place}>
          <NowLine axis={axis} />
          <LaneChart
            buckets={NO_BUCKETS}
            step={step}
            scale={axis}
            height={48}
            hasAxis
            label="The axis with the times"
          />
          {topics.map((topic) => (
            <Lane
              key={topic}
              topic={topic}
              buckets={counts.get(topic) ?? NO_BUCKETS}
              step={step}
              axis={axis}
              unread={unread}
              jobs={areJobsDrawn ? jobs.filter((job) => job.topic === topic) : undefined}
            />
          ))}
        </div>
      </div>
      <ul class="legend">
        {KINDS.map((kind) => (
          <li key={kind} class={`kind-${kind}`}>
            <i />
            {KIND_WORDS[kind]}
            {kind === "held" && " by a pause, a limit or a window"}
          </li>
        ))}
      </ul>
      <Numbers topics={topics} counts={counts} step={step} range={settled} />
    </>
  );
}

function NowLine({ axis }: { axis: Axis }) {
  const line = useRef<HTMLDivElement>(null);
  const at = now.value;
  useEffect(() => {
    const draw = ({ from, to }: Range) => {
      if (line.current) line.current.style.left = `${((at - from) / (to - from)) * 100}%`;
    };
    draw(axis.get());
    return axis.follow(draw);
  }, [at, axis.get, axis.follow]);
  return <div class="now-line" ref={line} aria-hidden="true" />;
}

/** Lets the wheel zoom around the pointer, and a drag move the range. */
function useDragAndWheel(place: { current: HTMLDivElement | null }, { get, show, zoom }: Axis): void {
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let last: number | undefined;
    let hasMoved = false;
    const timeOf = (x: number) => timeAt(x, element.getBoundingClientRect(), get());
    const wheel = (event: WheelEvent) => {
      // A wheel with Shift or sideways scrolls the page, as everywhere.
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, timeOf(event.clientX));
    };
    const down = ({ clientX }: PointerEvent) => {
      last = clientX;
      hasMoved = false;
    };
    const move = ({ clientX, buttons }: PointerEvent) => {
      if (last === undefined || buttons === 0) return;
      const by = timeOf(last) - timeOf(clientX);
      if (Math.abs(clientX - last) < 3 && !hasMoved) return;
      hasMoved = true;
      last = clientX;
      const { from, to } = get();
      show({ from: Math.round(from + by), to: Math.round(to + by) });
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
    element.addEventListener("wheel", wheel, { passive: false });
    element.addEventListener("pointerdown", down);
    element.addEventListener("click", click, { capture: true });
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    return () => {
      element.removeEventListener("wheel", wheel);
      element.removeEventListener("pointerdown", down);
      element.removeEventListener("click", click, { capture: true });
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
    };
  }, [place, get, show, zoom]);
}

/** The table shows at most so many rows. */
const MOST_ROWS = 300;

type NumbersProps = {
  readonly topics: readonly string[];
  readonly counts: ReadonlyMap<string, Buckets>;
  readonly step: number;
  readonly range: Range;
};

/** The same numbers as a table, whose lines lead to the jobs. */
function Numbers({ topics, counts, step, range }: NumbersProps) {
  const [isOpen, setOpen] = useState(false);
  const rows = isOpen
    ? topics.flatMap((topic) =>
        barsIn(counts.get(topic) ?? NO_BUCKETS, range, step).map((begin) => ({
          ...{ topic, begin, of: counts.get(topic)?.get(begin) ?? NO_COUNTS },
        })),
      )
    : [];
  rows.sort((a, b) => a.begin - b.begin);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The numbers as a table</summary>
      {rows.length > MOST_ROWS && (
        <p>
          The first {MOST_ROWS} of {rows.length} lines:
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no pointer scrolls the table with the arrow keys */}
      <section class="numbers-place" tabIndex={0} aria-label="The numbers">
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">From</th>
              <th scope="col">Topic</th>
              <th scope="col">Jobs</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST_ROWS).map(({ topic, begin, of }) => (
              <tr key={`${topic} ${begin}`}>
                <td>
                  <Time at={begin} show="time" />
                </td>
                <td>{topic}</td>
                <td>
                  <a href={addresses.jobs({ topic, from: isoAt(begin), to: isoAt(begin + step) })} data-line>
                    {countsText(of)}
                  </a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
