import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { HistoryMinute, Unknown } from "../../history.ts";
import { isDark, now, zone } from "../state.ts";
import { durationText, MINUTE, timeText } from "../times.ts";
import { colourOf } from "./colours.ts";

type Props = {
  readonly minutes: readonly HistoryMinute[];
  /** The shown range, ms since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly unknown: Unknown;
};

/** `null`: not known. */
type Counts = (number | null)[];

/** A column for each minute of the range. Where no job started, there is no lateness. */
type Columns = {
  readonly times: number[];
  readonly p50: (number | null)[];
  readonly p99: (number | null)[];
  readonly started: number[];
  readonly failed: Counts;
  readonly dead: Counts;
};

const LATENESS_HEIGHT = 180;
const COUNTS_HEIGHT = 140;
/** The width of the axis at the left, px. Both charts have it, so that their minutes stand below each other. */
const AXIS_WIDTH = 64;
const TIMES_HEIGHT = 44;

/** Two charts with one axis of times: how late the jobs of each minute started, and how many started, failed and died. */
export function HistoryChart({ minutes, from, to, unknown }: Props) {
  const [pointed, setPointed] = useState<number | undefined>();
  const columns = columnsOf({ minutes, from, to, unknown });
  const shown = pointed ?? columns.times.length - 1;
  return (
    <div class="history">
      <h3>
        How late jobs started{" "}
        <span class="quiet">
          <i class="key late50" /> half of them at most <i class="key late99" /> 99 % at most
        </span>
      </h3>
      <Chart kind="lateness" columns={columns} onPoint={setPointed} />
      <h3>
        Jobs a minute{" "}
        <span class="quiet">
          <i class="key started" /> started <i class="key failed" /> failed, are retried{" "}
          <i class="key dead" /> died
        </span>
      </h3>
      <Chart kind="counts" columns={columns} onPoint={setPointed} />
      <p class="history-pointed">{columnText(columns, shown)}</p>
    </div>
  );
}

function columnsOf({ minutes, from, to, unknown: { parts } }: Props): Columns {
  const first = from - (from % MINUTE);
  const count = Math.floor((to - first) / MINUTE) + 1;
  const times = Array.from({ length: count }, (_, place) => first + place * MINUTE);
  const byTime = new Map(minutes.map((minute) => [minute.at, minute]));
  const found = times.map((at) => byTime.get(at));
  return {
    times,
    p50: found.map((minute) => minute?.late?.p50 ?? null),
    p99: found.map((minute) => minute?.late?.p99 ?? null),
    started: found.map((minute) => minute?.started ?? 0),
    failed: found.map((minute) => (parts.includes("failed") ? null : (minute?.failed ?? 0))),
    dead: found.map((minute) => (parts.includes("dead") ? null : (minute?.dead ?? 0))),
  };
}

function columnText({ times, p50, p99, started, failed, dead }: Columns, place: number): string {
  const at = times[place];
  if (at === undefined) return "";
  const [half, most] = [p50[place], p99[place]];
  const late =
    half == null || most == null ? [] : [`p50 ${durationText(half)}, p99 ${durationText(most)} late`];
  const counts = [
    `${started[place]} started`,
    `${failed[place] ?? "unknown"} failed`,
    `${dead[place] ?? "unknown"} died`,
  ];
  return `${timeText(at, now.value, zone.value)}: ${[...counts, ...late].join(", ")}`;
}

type ChartProps = {
  readonly kind: "lateness" | "counts";
  readonly columns: Columns;
  readonly onPoint: (place: number | undefined) => void;
};

function Chart({ kind, columns, onPoint }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const [dark, timeZone] = [isDark.value, zone.value];
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const height = kind === "lateness" ? LATENESS_HEIGHT : COUNTS_HEIGHT + TIMES_HEIGHT;
    const options = optionsOf(kind, element.clientWidth, height, timeZone, onPoint);
    const plot = new uPlot(options, [[]], element);
    chart.current = plot;
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [kind, dark, timeZone, onPoint]);
  useEffect(() => chart.current?.setData(dataOf(kind, columns)), [kind, columns, dark, timeZone]);
  return <div ref={place} class="history-chart" role="img" aria-label={labelOf(kind, columns)} />;
}

function labelOf(kind: ChartProps["kind"], { times, p99, started, failed, dead }: Columns): string {
  const sum = (counts: Counts) =>
    counts.includes(null) ? "unknown" : counts.reduce<number>((all, count) => all + (count ?? 0), 0);
  if (kind === "counts")
    return `Jobs in ${times.length} minutes: ${sum(started)} started, ${sum(failed)} failed, ${sum(dead)} died`;
  const most = Math.max(0, ...p99.map((late) => late ?? 0));
  return `Lateness in ${times.length} minutes: the slowest jobs were at most ${durationText(most)} late`;
}

function dataOf(kind: ChartProps["kind"], columns: Columns): uPlot.AlignedData {
  const { times, p50, p99, started, failed, dead } = columns;
  const x = times.map((at) => at / 1000);
  if (kind === "lateness") return [x, p99, p50];
  // Dead jobs stand on failed attempts, before the jobs that started.
  return [x, started, failed.map((count, index) => (count ?? 0) + (dead[index] ?? 0)), failed];
}

function optionsOf(
  kind: ChartProps["kind"],
  width: number,
  height: number,
  timeZone: string,
  onPoint: ChartProps["onPoint"],
): uPlot.Options {
  const isLateness = kind === "lateness";
  const [text, line] = [colourOf("--quiet"), colourOf("--line")];
  const axis = { stroke: text, ticks: { show: false }, grid: { stroke: line, width: 1 } };
  return {
    width,
    height,
    padding: [8, 8, isLateness ? 8 : 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, sync: { key: "history" }, points: { size: 6 } },
    hooks: { setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)] },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), timeZone),
    scales: {
      x: { time: true },
      y: { range: (_, __, most) => [0, Math.max(most ?? 0, isLateness ? 1000 : 4) * 1.05] },
    },
    axes: [
      isLateness
        ? { ...axis, size: 0, values: () => [] }
        : { ...axis, size: TIMES_HEIGHT, values: AXIS_TIMES },
      {
        ...axis,
        size: AXIS_WIDTH,
        ...(isLateness
          ? { incrs: DURATIONS, values: (_: uPlot, splits: number[]) => splits.map(durationText) }
          : { incrs: COUNTS }),
      },
    ],
    series: [{}, ...(isLateness ? latenessSeries() : countSeries())],
  };
}

function latenessSeries(): uPlot.Series[] {
  const [p99, p50] = [colourOf("--late"), colourOf("--accent")];
  const points = (fill: string) => ({ size: 4, fill, stroke: fill, show: true, filter: lonePoints });
  return [
    { stroke: p99, width: 1.5, points: points(p99) },
    { stroke: p50, width: 1.5, dash: [4, 3], points: points(p50) },
  ];
}

/** A value without a neighbour is no part of a line, so it needs a point. */
function lonePoints({ data }: uPlot, series: number): number[] {
  const values = data[series] ?? [];
  return [...values.keys()].filter(
    (place) => values[place] != null && values[place - 1] == null && values[place + 1] == null,
  );
}

function countSeries(): uPlot.Series[] {
  const paths = uPlot.paths.bars?.({ size: [0.8] });
  const names = ["--due-fill", "--bad-fill", "--retry-fill"] as const;
  return names.map((name) => ({
    fill: colourOf(name),
    width: 0,
    points: { show: false },
    ...(paths && { paths }),
  }));
}

const SECONDS = 1000;
/** The steps between the texts of an axis. */
const DURATIONS = [
  ...[100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECONDS),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 4, 8, 24].map((hours) => hours * 60 * MINUTE),
];
const COUNTS = [1, 2, 5]
  .flatMap((count) => [1, 10, 100, 1000, 10_000, 100_000].map((ten) => count * ten))
  .sort((a, b) => a - b);
const AXIS_TIMES: uPlot.Axis.Values = [
  [60, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
];
