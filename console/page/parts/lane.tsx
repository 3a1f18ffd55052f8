import { useEffect, useRef, useState } from "preact/hooks";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import { clock } from "../clock.ts";
import { useFiling } from "../filing.ts";
import { shownState } from "../shown-state.ts";
import { now, zone } from "../state.ts";
import {
  type Buckets,
  barsIn,
  countsText,
  kindOf,
  NO_COUNTS,
  type Range,
  sumOfAll,
  tallestOf,
  timeAt,
} from "../time-buckets.ts";
import { isoAt, spanText, timeText } from "../times.ts";
import { LaneChart, type Scale } from "./lane-chart.tsx";
import { addresses } from "./search.ts";

const HEIGHT = 40;
export const NO_BUCKETS: Buckets = new Map();

type Props = {
  /** `undefined`: the lane of all topics. */
  readonly topic: string | undefined;
  readonly buckets: Buckets;
  readonly step: number;
  readonly axis: Scale & { readonly settled: Range };
  /** Why the numbers are not complete, such as `counting …`. */
  readonly unread: string | undefined;
  readonly jobs: readonly JobSummary[] | undefined;
  /** How many jobs a bar of the full height has. */
  readonly most: number;
  /** How many jobs may start in the time of one bar. */
  readonly limit?: number | undefined;
};

export function Lane({ topic, buckets, step, axis, unread, jobs, most, limit }: Props) {
  const [pointed, point] = useState<number | undefined>();
  const name = topic ?? "all topics";
  const filing = useFiling({ topic, ...axis.settled }).length;
  const { counts, texts } = textsOf({ buckets, jobs, unread, limit, filing });
  return (
    <section class={topic === undefined ? "lane all" : "lane"} aria-label={name}>
      <div class="lane-head">
        <h2>{name}</h2>
        <div class="lane-texts">
          <span class={pointed === undefined ? "quiet" : "unseen"}>{texts.join("; ")}</span>
          <span aria-live="polite">
            {pointed !== undefined &&
              `${countsText(buckets.get(pointed) ?? NO_COUNTS) || "no jobs"}, ${spanText(pointed, pointed + step, now.value, zone.value)}`}
          </span>
        </div>
      </div>
      <div class="lane-chart">
        <LaneChart
          buckets={jobs === undefined ? buckets : NO_BUCKETS}
          step={step}
          scale={axis}
          height={HEIGHT}
          most={most}
          label={`Jobs of ${name}: ${counts}`}
        />
        {jobs === undefined && limit !== undefined && limit <= most && (
          <i class="limit-line" style={{ bottom: percent(limit, most) }} aria-hidden="true" />
        )}
        {jobs === undefined ? (
          <LaneBars {...{ topic, name, buckets, step, axis, pointed, point }} />
        ) : (
          <LaneJobs jobs={jobs} axis={axis} />
        )}
      </div>
    </section>
  );
}

type Told = Pick<Props, "buckets" | "jobs" | "unread" | "limit"> & {
  /** How many schedules will file jobs in the range. */
  readonly filing: number;
};

function textsOf({ buckets, jobs, unread, limit, filing }: Told) {
  const counts = countsText(sumOfAll(buckets)) || (unread ?? (filing > 0 ? "no jobs yet" : "no jobs"));
  const texts = [
    counts,
    buckets.size > 0 && jobs === undefined && `tallest bar ${tallestOf(buckets).toLocaleString("en")}`,
    limit !== undefined && `limit ${limit.toLocaleString("en")} a bar`,
    buckets.size > 0 && unread,
    filing > 0 && `${filing === 1 ? "1 schedule" : `${filing} schedules`} will file jobs here`,
  ];
  return { counts, texts: texts.filter((text) => typeof text === "string") };
}

type BarsProps = Pick<Props, "topic" | "buckets" | "step" | "axis"> & {
  readonly name: string;
  readonly pointed: number | undefined;
  readonly point: (begin: number | undefined) => void;
};

function LaneBars({ topic, name, buckets, step, axis, pointed, point }: BarsProps) {
  const { from, to } = axis.get();
  const range = pointed === undefined ? axis.settled : { from: pointed, to: pointed + step };
  // After a movement of the range another bar is under the pointer.
  useEffect(() => axis.follow(() => point(undefined)), [axis.follow, point]);
  const pointAt = ({ clientX, currentTarget }: { clientX: number; currentTarget: HTMLElement }) => {
    const at = timeAt(clientX, currentTarget.getBoundingClientRect(), axis.get());
    point(Math.floor(at / step) * step);
  };
  const touches = useTouches(pointed, pointAt);

  function go(event: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    // Elsewhere these keys move the range.
    event.stopPropagation();
    event.preventDefault();
    point(nextBar(barsIn(buckets, axis.get(), step), pointed, by, step));
  }

  return (
    <a
      class="lane-bars"
      href={addresses.jobs({ topic, from: isoAt(range.from), to: isoAt(range.to) })}
      aria-label={`Jobs of ${name}, bar by bar with the keys ← and →`}
      onPointerMove={(event) => event.buttons === 0 && pointAt(event)}
      {...touches}
      onPointerLeave={({ pointerType }) => pointerType !== "touch" && point(undefined)}
      onBlur={() => point(undefined)}
      onKeyDown={go}
      // A drag moves the range, and does not drag a link.
      draggable={false}
      data-line
    >
      {pointed !== undefined && (
        <i style={{ left: percent(pointed - from, to - from), width: percent(step, to - from) }} />
      )}
    </a>
  );
}

/** A finger cannot point without a touch. So its first touch of a bar shows the numbers, and the second one opens the jobs. */
function useTouches(
  pointed: number | undefined,
  pointAt: (event: PointerEvent & { currentTarget: HTMLElement }) => void,
) {
  const before = useRef<number | undefined>(undefined);
  return {
    onPointerDown(event: PointerEvent & { currentTarget: HTMLElement }): void {
      before.current = pointed;
      pointAt(event);
    },
    onClick(event: MouseEvent): void {
      const isTouch = (event as PointerEvent).pointerType === "touch";
      if (!isTouch || before.current === pointed) return;
      event.preventDefault();
      // Else the page's router would open the link.
      event.stopPropagation();
    },
  };
}

function percent(part: number, whole: number): string {
  return `${(part / whole) * 100}%`;
}

/** The bar after (1) or before (-1) the pointed one. Without a pointed one, the first that has not passed. */
function nextBar(
  bars: readonly number[],
  pointed: number | undefined,
  by: number,
  step: number,
): number | undefined {
  const next =
    pointed === undefined ? bars.find((begin) => begin + step > clock()) : bars[bars.indexOf(pointed) + by];
  return next ?? pointed ?? bars.at(-1);
}

function LaneJobs({ jobs, axis }: { jobs: readonly JobSummary[]; axis: Props["axis"] }) {
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
      {jobs.map((job) => {
        const text = `${job.key ?? job.id}, ${shownState(job)}`;
        return (
          <a
            key={job.id}
            class={`kind-${kindOf(shownState(job)) ?? "cancelled"}`}
            href={addresses.job(job.id)}
            title={`${text}, due ${timeText(Date.parse(job.dueAt), now.value, zone.value)}`}
            aria-label={text}
            style={{ "--at": String(Date.parse(job.dueAt) - origin) }}
            data-line
          >
            <i />
          </a>
        );
      })}
    </div>
  );
}
