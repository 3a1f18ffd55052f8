import { useEffect, useRef } from "preact/hooks";
import type { TopicJson } from "../../../src/http/answers/topics.ts";
import { clock } from "../clock.ts";
import { Choice } from "../parts/choice.tsx";
import { Lane, NO_BUCKETS } from "../parts/lane.tsx";
import { AXIS_EDGE, LaneChart } from "../parts/lane-chart.tsx";
import { Failure, Loaded } from "../parts/loaded.tsx";
import { Numbers } from "../parts/numbers.tsx";
import { isAbout } from "../parts/range-fields.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { TopicField } from "../parts/topic-field.tsx";
import { useTopics } from "../reads.ts";
import { now, zone } from "../state.ts";
import { type Axis, rangeIn, useAxis, useAxisKeys, useDragAndWheel } from "../time-axis.ts";
import {
  type Buckets,
  type Counts,
  KIND_WORDS,
  KINDS,
  type Range,
  stepOf,
  sumOfAll,
  tallestOf,
  together,
} from "../time-buckets.ts";
import { useTimeline } from "../timeline.ts";
import { durationText, HOUR, isoAt, MINUTE, startOfDay } from "../times.ts";

/** The ranges that a button sets: from and to, ms from now; whole days of the chosen zone, counted from today. */
const RANGES = [
  ["an hour ago to a day ahead", -HOUR, 24 * HOUR],
  ["last hour", -HOUR, 0],
  ["next 15 minutes", -MINUTE, 15 * MINUTE],
  ["next hour", -MINUTE, HOUR],
] as const;
const DAYS = [
  ["today", 0],
  ["tomorrow", 1],
] as const;

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
        {!query.topic && <ScaleField />}
        <Movements axis={axis} />
      </div>
      <Loaded query={topics} what="the topics">
        {(found) => {
          const shown = found.filter(({ topic }) => !query.topic || topic === query.topic);
          return <Lanes topics={shown} axis={axis} />;
        }}
      </Loaded>
    </>
  );
}

function Movements({ axis }: { axis: Axis }) {
  const { from, to } = axis.settled;
  const isShown = (range: Range) => isAbout(from, range.from) && isAbout(to, range.to);
  return (
    <div class="buttons">
      {RANGES.map(([name, begin, end]) => (
        <button
          key={name}
          type="button"
          aria-pressed={isShown({ from: now.value + begin, to: now.value + end })}
          onClick={() => axis.show({ from: clock() + begin, to: clock() + end })}
        >
          {name}
        </button>
      ))}
      {DAYS.map(([name, days]) => (
        <button
          key={name}
          type="button"
          aria-pressed={isShown(wholeDay(days))}
          onClick={() => axis.show(wholeDay(days))}
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
  );
}

function wholeDay(days: number): Range {
  const day = (count: number) => startOfDay(clock(), zone.value, count);
  return { from: day(days), to: day(days + 1) };
}

/** Jobs are drawn one by one if the range has at most so many, and is at most so long. */
const DRAWN_JOBS = 200;
const DRAWN_SPAN = 15 * MINUTE;

function Lanes({ topics: reports, axis }: { topics: readonly TopicJson[]; axis: Axis }) {
  const topics = reports.map(({ topic }) => topic);
  const { settled } = axis;
  const step = stepOf(settled);
  const { counts, jobs, status, isReading, error, again, goOn } = useTimeline(topics, settled, step);
  const areJobsDrawn = settled.to - settled.from <= DRAWN_SPAN && jobs.length <= DRAWN_JOBS;
  const isIncomplete = isReading ? "counting …" : goOn && "not counted to its end";
  const unread = error === undefined ? isIncomplete : "not counted";
  const all = together(counts.values());
  return (
    <>
      <p role="status">
        <Time at={settled.from} show="time" /> until <Time at={settled.to} show="time" />; one bar is{" "}
        {durationText(step)}. {status}{" "}
        {goOn && (
          <button type="button" onClick={goOn}>
            Go on counting
          </button>
        )}
      </p>
      {error !== undefined && <Failure error={error} what="the jobs of this range" again={again} />}
      <Legend counts={sumOfAll(all)} />
      <LaneList {...{ reports, counts, all, step, axis, unread }} jobs={areJobsDrawn ? jobs : undefined} />
      <Hint areJobsDrawn={areJobsDrawn} />
      <Numbers topics={topics} counts={counts} step={step} range={settled} />
    </>
  );
}

type ListProps = Pick<Parameters<typeof Lane>[0], "step" | "unread" | "jobs"> & {
  readonly axis: Axis;
  readonly reports: readonly TopicJson[];
  readonly counts: ReadonlyMap<string, Buckets>;
  readonly all: Buckets;
};

function LaneList({ reports, counts, all, jobs, ...lane }: ListProps) {
  const { axis, step } = lane;
  const place = useRef<HTMLDivElement>(null);
  useDragAndWheel(place, axis);
  const [{ scale }] = useSearch();
  const tallest = Math.max(...[...counts.values()].map(tallestOf));
  return (
    <div class="lanes" style={{ "--edge": `${AXIS_EDGE}px` }}>
      <div class="lanes-place" ref={place}>
        <NowLine axis={axis} />
        <TimeAxis axis={axis} step={step} />
        {reports.length > 1 && jobs === undefined && (
          <Lane topic={undefined} buckets={all} most={tallestOf(all)} jobs={undefined} {...lane} />
        )}
        {reports.map(({ topic, policy: { maxPerSecond } }) => {
          const buckets = counts.get(topic) ?? NO_BUCKETS;
          return (
            <Lane
              key={topic}
              topic={topic}
              buckets={buckets}
              most={scale === "one" ? tallest : tallestOf(buckets)}
              limit={maxPerSecond && (maxPerSecond * step) / 1000}
              jobs={jobs?.filter((job) => job.topic === topic)}
              {...lane}
            />
          );
        })}
      </div>
    </div>
  );
}

function ScaleField() {
  const [{ scale }, change] = useSearch();
  return (
    <Choice
      label="Height of the bars"
      value={scale === "one" ? ONE_SCALE : OWN_SCALE}
      options={[OWN_SCALE, ONE_SCALE]}
      onChange={(chosen) => change({ scale: chosen === ONE_SCALE ? "one" : undefined })}
    />
  );
}
const OWN_SCALE = "each topic on its own scale";
const ONE_SCALE = "all topics on one scale";

function Hint({ areJobsDrawn }: { areJobsDrawn: boolean }) {
  return (
    <p class="quiet">
      {areJobsDrawn
        ? "Each dot is a job. Point at it to see its key. A click shows the job."
        : "Point at a bar to see its numbers. A click shows all jobs of its topic and its time, also the cancelled ones. With a finger, touch the bar twice."}{" "}
      <a href={addresses.schedules}>Schedules</a> will add jobs at their next occurrences, which are not
      counted here. Turn the wheel to zoom, and drag to move.
    </p>
  );
}

function TimeAxis({ axis, step }: { axis: Axis; step: number }) {
  return (
    <LaneChart
      buckets={NO_BUCKETS}
      step={step}
      scale={axis}
      height={48}
      hasAxis
      label="The axis with the times"
    />
  );
}

function Legend({ counts }: { counts: Counts }) {
  return (
    <ul class="legend">
      {KINDS.map((kind) => (
        <li key={kind} class={`kind-${kind}`}>
          <i />
          {KIND_WORDS[kind]}
          {kind === "held" && " by a pause, a limit or a window"}{" "}
          <span class="quiet">{counts[kind].toLocaleString("en")}</span>
        </li>
      ))}
    </ul>
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
