import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { JobSummary } from "../../../http/answers.ts";
import { listenToKeys } from "../parts/keys.ts";
import { LaneChart, type Scale } from "../parts/lane-chart.tsx";
import { Failure, Loaded } from "../parts/loaded.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { TopicField } from "../parts/topic-field.tsx";
import { useTopics } from "../reads.ts";
import { now } from "../state.ts";
import {
  type Buckets,
  KINDS,
  kindOf,
  LONGEST,
  moved,
  type Range,
  stepOf,
  sumOf,
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

const LANE_HEIGHT = 56;
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
const NO_BUCKETS: Buckets = new Map();

function Lanes({ topics, axis }: { topics: readonly string[]; axis: Axis }) {
  const { settled } = axis;
  const step = stepOf(settled);
  const { counts, jobs, status, error, again } = useTimeline(topics, settled, step);
  const { route } = useLocation();
  const place = useRef<HTMLDivElement>(null);
  useDragAndWheel(place, axis);
  const areJobsDrawn = settled.to - settled.from <= DRAWN_SPAN && jobs.length <= DRAWN_JOBS;
  const pick = (topic: string) => (at: number) => {
    const begin = Math.floor(at / step) * step;
    route(addresses.jobs({ topic, from: isoAt(begin), to: isoAt(begin + step) }));
  };
  return (
    <>
      <p role="status">
        <Time at={settled.from} show="time" /> until <Time at={settled.to} show="time" />; one bar is{" "}
        {durationText(step)}. {status}
      </p>
      {error !== undefined && <Failure error={error} what="the jobs of this range" again={again} />}
      <div class="lanes" ref={place}>
        <NowLine axis={axis} />
        <LaneChart
          buckets={NO_BUCKETS}
          step={step}
          scale={axis}
          height={48}
          hasAxis
          label="The axis with the times"
        />
        {topics.map((topic) => {
          const buckets = counts.get(topic) ?? NO_BUCKETS;
          return (
            <section key={topic} class="lane" aria-label={topic}>
              <h2>
                {topic} <span class="quiet">{laneText(buckets)}</span>
              </h2>
              <LaneChart
                buckets={areJobsDrawn ? NO_BUCKETS : buckets}
                step={step}
                scale={axis}
                height={LANE_HEIGHT}
                label={`Jobs of ${topic}: ${laneText(buckets)}`}
                onPick={pick(topic)}
              />
              {areJobsDrawn && <LaneJobs jobs={jobs.filter((job) => job.topic === topic)} axis={axis} />}
            </section>
          );
        })}
      </div>
      <ul class="legend">
        {KINDS.map((kind) => (
          <li key={kind} class={`kind-${kind}`}>
            <i />
            {LEGEND[kind]}
          </li>
        ))}
      </ul>
      <Numbers topics={topics} counts={counts} step={step} range={settled} />
    </>
  );
}

const LEGEND = {
  done: "done",
  failed: "dead or expired",
  running: "running",
  due: "due",
  held: "held by a pause, a limit or a window",
} as const;

function laneText(buckets: Buckets): string {
  const sums = KINDS.map(
    (kind) => [kind, [...buckets.values()].reduce((sum, counts) => sum + counts[kind], 0)] as const,
  );
  const texts = sums.flatMap(([kind, sum]) => (sum === 0 ? [] : [`${sum.toLocaleString("en")} ${kind}`]));
  return texts.length === 0 ? "no jobs" : texts.join(", ");
}

/** The jobs of a lane, each a link at its place. Their places follow the range by properties of the style sheet. */
function LaneJobs({ jobs, axis }: { jobs: readonly JobSummary[]; axis: Axis }) {
  const place = useRef<HTMLDivElement>(null);
  // Positions are relative to the settled range, because the style sheet's numbers are not exact enough for ms since the epoch.
  const { from: origin } = axis.settled;
  useEffect(() => {
    const draw = ({ from, to }: Range) => {
      place.current?.style.setProperty("--from", String(from - origin));
      place.current?.style.setProperty("--span", String(to - from));
    };
    draw(axis.get());
    return axis.follow(draw);
  }, [origin, axis.get, axis.follow]);
  return (
    <div class="lane-jobs" ref={place}>
      {jobs.map((job) => (
        <a
          key={job.id}
          class={`kind-${kindOf(job, now.value) ?? "cancelled"}`}
          href={addresses.job(job.id)}
          title={`${job.key ?? job.id}, ${job.state}, due ${job.dueAt}`}
          aria-label={`${job.key ?? job.id}, ${job.state}`}
          style={{ "--at": String(Date.parse(job.dueAt) - origin) }}
          data-line
        >
          <i />
        </a>
      ))}
    </div>
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
    const timeAt = (x: number) => {
      const { left, width } = element.getBoundingClientRect();
      const { from, to } = get();
      return from + ((x - left) / width) * (to - from);
    };
    const wheel = (event: WheelEvent) => {
      // A wheel with Shift or sideways scrolls the page, as everywhere.
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.clientX));
    };
    const down = ({ clientX }: PointerEvent) => {
      last = clientX;
      hasMoved = false;
    };
    const move = ({ clientX, buttons }: PointerEvent) => {
      if (last === undefined || buttons === 0) return;
      const by = timeAt(last) - timeAt(clientX);
      if (Math.abs(clientX - last) < 3 && !hasMoved) return;
      hasMoved = true;
      last = clientX;
      const { from, to } = get();
      show({ from: Math.round(from + by), to: Math.round(to + by) });
    };
    const up = () => {
      last = undefined;
    };
    // The click at the end of a drag picks nothing.
    const click = (event: MouseEvent) => {
      if (hasMoved) event.stopPropagation();
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
        [...(counts.get(topic) ?? NO_BUCKETS)]
          .filter(([begin]) => begin + step > range.from && begin < range.to)
          .map(([begin, of]) => ({ topic, begin, of })),
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
                    {KINDS.flatMap((kind) =>
                      of[kind] === 0 ? [] : [`${of[kind].toLocaleString("en")} ${kind}`],
                    ).join(", ")}
                  </a>
                  {sumOf(of) === 0 && "none"}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
