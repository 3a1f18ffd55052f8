import { useEffect, useRef } from "preact/hooks";
import { clock } from "../clock.ts";
import { Lane, NO_BUCKETS } from "../parts/lane.tsx";
import { AXIS_EDGE, LaneChart } from "../parts/lane-chart.tsx";
import { Failure, Loaded } from "../parts/loaded.tsx";
import { Numbers } from "../parts/numbers.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { TopicField } from "../parts/topic-field.tsx";
import { useTopics } from "../reads.ts";
import { now } from "../state.ts";
import { type Axis, rangeIn, useAxis, useAxisKeys, useDragAndWheel } from "../time-axis.ts";
import { KIND_WORDS, KINDS, type Range, stepOf } from "../time-buckets.ts";
import { useTimeline } from "../timeline.ts";
import { durationText, HOUR, isoAt, MINUTE } from "../times.ts";

/** The ranges that a button sets: from and to, ms from now. */
const RANGES = [
  ["an hour ago to a day ahead", -HOUR, 24 * HOUR],
  ["last hour", -HOUR, 0],
  ["next 15 minutes", -MINUTE, 15 * MINUTE],
  ["next hour", -MINUTE, HOUR],
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
        <Movements axis={axis} />
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

function Movements({ axis }: { axis: Axis }) {
  return (
    <div class="buttons">
      {RANGES.map(([name, begin, end]) => (
        <button
          key={name}
          type="button"
          onClick={() => axis.show({ from: clock() + begin, to: clock() + end })}
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
      <Hint areJobsDrawn={areJobsDrawn} />
      {error !== undefined && <Failure error={error} what="the jobs of this range" again={again} />}
      <div class="lanes" style={{ "--edge": `${AXIS_EDGE}px` }}>
        <div class="lanes-place" ref={place}>
          <NowLine axis={axis} />
          <TimeAxis axis={axis} step={step} />
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
      <Legend />
      <Numbers topics={topics} counts={counts} step={step} range={settled} />
    </>
  );
}

function Hint({ areJobsDrawn }: { areJobsDrawn: boolean }) {
  return (
    <p class="quiet">
      {areJobsDrawn
        ? "Each dot is a job. Point at it to see its key. A click shows the job."
        : "Each lane has its own scale. Point at a bar to see its numbers. A click shows all jobs of its topic and its time, also the cancelled ones."}{" "}
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

function Legend() {
  return (
    <ul class="legend">
      {KINDS.map((kind) => (
        <li key={kind} class={`kind-${kind}`}>
          <i />
          {KIND_WORDS[kind]}
          {kind === "held" && " by a pause, a limit or a window"}
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
