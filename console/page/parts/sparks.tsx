import { LATE_AFTER } from "../../../src/core/constants.ts";
import type { HistoryAnswer, Unknown } from "../../history.ts";
import { SPARK_HOURS, useHistory } from "../history-reads.ts";
import {
  compare,
  countText,
  factorText,
  minutesOf,
  type Span,
  spansOf,
  type Trend,
  trendOf,
  trendText,
  unknownOf,
} from "../history-spans.ts";
import { durationText } from "../times.ts";
import { ArrowDown, ArrowUp } from "./icon.tsx";

const STEPS = 36;
const HEIGHT = 28;
/** Shorter latenesses are drawn at the bottom, because nobody minds them, ms. */
const LEAST_SCALE = 1000;

/** How late a topic's jobs started in the last hours, and how many started and failed: two lines with their last values. */
export function TopicSparks({ topic }: { topic: string }) {
  const { data } = useHistory();
  if (data === undefined || "why" in data) return null;
  const minutes = minutesOf(data, topic);
  const unknown = unknownOf(data, topic);
  if (unknown.parts.includes("started"))
    return (
      <p class="quiet" title={unknown.why}>
        history unknown<span class="hidden">: {unknown.why}</span>
      </p>
    );
  const spans = spansOf(minutes, data, SPARK_HOURS, STEPS);
  const compared = compare(data, minutes);
  const isEmpty = spans.every(({ started, failed, dead }) => started + failed + dead === 0);
  return (
    <div class={isEmpty ? "sparks none" : "sparks"}>
      <LatenessSpark spans={spans} now={compared.now} trend={trendOf(compared)} />
      <CountsSpark spans={spans} now={compared.now} unknown={unknown} />
    </div>
  );
}

/** Says once for all topics why there are no sparklines. */
export function HistoryWhy() {
  const { data } = useHistory();
  return data === undefined ? null : <Why history={data} />;
}

export function Why({ history }: { history: HistoryAnswer | Unknown }) {
  return "why" in history ? <p class="quiet">There is no history: {history.why}.</p> : null;
}

type SparkProps = { readonly spans: readonly Span[]; readonly now: Span };

function LatenessSpark({ spans, now, trend }: SparkProps & { trend: Trend | undefined }) {
  const most = Math.max(LEAST_SCALE, ...spans.map(({ late }) => late?.p99 ?? 0));
  const text = now.late
    ? `99 % of the jobs of the last 10 minutes were at most ${durationText(now.late.p99)} late${trend ? `, ${comparedText(trend)}` : ""}`
    : "no job started in the last 10 minutes";
  const label = `Lateness in the last ${SPARK_HOURS} hours, at most ${durationText(mostLate(spans))}: ${text}`;
  return (
    <div class="spark" title={label}>
      <svg viewBox={`0 0 ${STEPS} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {linesOf(spans, most).map((points) => (
          <polyline key={points} class="spark-late" points={points} />
        ))}
      </svg>
      <span class="spark-value">
        <span class="quiet">
          late p99<span class="spark-when"> of 10 min</span>
        </span>{" "}
        {now.late ? (
          <strong class={now.late.p99 > LATE_AFTER ? "is-late" : ""}>{durationText(now.late.p99)}</strong>
        ) : (
          <span class="quiet">no run</span>
        )}{" "}
        {trend && <TrendMark trend={trend} />}
      </span>
    </div>
  );
}

export function TrendMark({ trend }: { trend: Trend }) {
  const { direction, times } = trend;
  if (direction === "same") return null;
  const [Icon, factor] = direction === "up" ? [ArrowUp, times] : [ArrowDown, 1 / times];
  return (
    <span class={`trend ${direction}`} title={comparedText(trend)}>
      <Icon class="icon" size={12} aria-hidden="true" />
      {factorText(factor)}×<span class="hidden"> ({comparedText(trend)})</span>
    </span>
  );
}

function comparedText(trend: Trend): string {
  return `compared with an hour ago ${trendText(trend)}`;
}

function CountsSpark({ spans, now, unknown }: SparkProps & { unknown: Unknown }) {
  const most = Math.max(1, ...spans.map(({ started, failed, dead }) => Math.max(started, failed + dead)));
  const counts = [
    `${now.started.toLocaleString("en")} started`,
    ...partText("failed", now.failed, unknown),
    ...partText("dead", now.dead, unknown),
  ].join(", ");
  const why = unknown.why && `: ${unknown.why}`;
  const label = `Jobs in the last ${SPARK_HOURS} hours; in the last 10 minutes ${counts}${why}`;
  return (
    <div class="spark" title={label}>
      <svg viewBox={`0 0 ${STEPS} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {spans.map((span, place) => (
          <Bar key={place} place={place} span={span} most={most} />
        ))}
      </svg>
      <span class="spark-value">
        {counts} <span class="quiet spark-when">in 10 min</span>
      </span>
    </div>
  );
}

/** Nothing is said of a known 0. */
function partText(part: "failed" | "dead", count: number, unknown: Unknown): string[] {
  const text = countText(count, part, unknown);
  return text === "0" ? [] : [`${text} ${part === "failed" ? "failed" : "died"}`];
}

/** Failed attempts and dead jobs are drawn over the started jobs: a retry is no start. */
function Bar({ place, span: { started, failed, dead }, most }: { place: number; span: Span; most: number }) {
  const height = (count: number) => (count === 0 ? 0 : Math.max((count / most) * HEIGHT, 1.5));
  const bar = (name: string, count: number, above = 0) =>
    count > 0 && (
      <rect
        class={name}
        x={place + 0.1}
        y={HEIGHT - height(count) - above}
        width={0.8}
        height={height(count)}
      />
    );
  return (
    <>
      {bar("spark-started", started)}
      {bar("spark-failed", failed)}
      {bar("spark-dead", dead, height(failed))}
    </>
  );
}

function mostLate(spans: readonly Span[]): number {
  return Math.max(0, ...spans.map(({ late }) => late?.p99 ?? 0));
}

/** The points of each part of the line. Where no job started, the line has a gap. */
function linesOf(spans: readonly Span[], most: number): string[] {
  const points = spans.map(({ late }, place) => {
    if (late === undefined) return undefined;
    const y = HEIGHT - 1 - (late.p99 / most) * (HEIGHT - 2);
    // A value that stands alone is a short line.
    return `${place},${y} ${place + 1},${y}`;
  });
  const parts: string[][] = [[]];
  for (const point of points) {
    if (point === undefined) parts.push([]);
    else parts.at(-1)?.push(point);
  }
  return parts.filter((part) => part.length > 0).map((part) => part.join(" "));
}
