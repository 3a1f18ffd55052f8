import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { isDark, zone } from "../state.ts";
import { type Buckets, KINDS, type Kind, type Range, stacked, tallestOf } from "../time-buckets.ts";
import { colourOf } from "./colours.ts";

const COLOURS: Readonly<Record<Kind, `--${string}`>> = {
  done: "--good-fill",
  failed: "--bad-fill",
  running: "--accent-fill",
  late: "--late-fill",
  retrying: "--retry-fill",
  due: "--due-fill",
  held: "--held-fill",
};

/** What `scale` gets from the view: the range that is shown, and a way to follow it without drawing the view again. */
export type Scale = {
  readonly get: () => Range;
  readonly follow: (draw: (range: Range) => void) => () => void;
};

type Props = {
  readonly buckets: Buckets;
  readonly step: number;
  readonly scale: Scale;
  readonly height: number;
  /** How many jobs a bar of the full height has. Default: the tallest bar of this lane. */
  readonly most?: number | undefined;
  readonly hasAxis?: boolean;
  /** What the chart shows, for those who do not see it. */
  readonly label: string;
};

/** How far the axis with the times reaches beyond the lanes at each side, so that its first and last texts are not cut, px. */
export const AXIS_EDGE = 30;

/** The bars of a lane, stacked by kind. A change of the range only moves what is drawn, so zooming stays fast. */
export function LaneChart({ buckets, step, scale, height, most, hasAxis, label }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const [colours, timeZone] = [isDark.value, zone.value];
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const plot = new uPlot(
      optionsFor(element.clientWidth, height, hasAxis === true, timeZone),
      [[]],
      element,
    );
    chart.current = plot;
    const draw = ({ from, to }: Range) => plot.setScale("x", { min: from / 1000, max: to / 1000 });
    const stop = scale.follow(draw);
    draw(scale.get());
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      stop();
      observer.disconnect();
      plot.destroy();
    };
  }, [colours, timeZone, height, hasAxis, scale]);
  useEffect(() => {
    const plot = chart.current;
    if (plot === undefined) return;
    const { times, sums } = stacked(buckets, step);
    // The last kind is the highest bar, so it is drawn first.
    plot.setData([times.map((time) => (time + step / 2) / 1000), ...sums.toReversed()], false);
    plot.setScale("y", { min: 0, max: most ?? tallestOf(buckets) });
    const { from, to } = scale.get();
    plot.setScale("x", { min: from / 1000, max: to / 1000 });
  }, [buckets, step, scale, most, colours, timeZone, height, hasAxis]);
  return <div ref={place} role="img" aria-label={label} class={hasAxis ? "axis" : undefined} />;
}

function optionsFor(width: number, height: number, hasAxis: boolean, timeZone: string): uPlot.Options {
  const [text, line] = [colourOf("--quiet"), colourOf("--line")];
  const bars = uPlot.paths.bars?.({ size: [0.9] });
  return {
    width,
    height,
    padding: hasAxis ? [2, AXIS_EDGE, 0, AXIS_EDGE] : [2, 0, 2, 0],
    legend: { show: false },
    cursor: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), timeZone),
    scales: { x: { time: true, auto: false }, y: { auto: false, range: [0, 1] } },
    axes: [
      {
        ...AXIS_STEPS,
        ...(hasAxis
          ? { stroke: text, ticks: { stroke: text, width: 1 }, grid: { show: false }, values: AXIS_VALUES }
          : // Lines at the times of the axis.
            { size: 0, ticks: { show: false }, grid: { stroke: line, width: 1 }, values: () => [] }),
      },
      { show: false },
    ],
    series: [
      {},
      ...KINDS.toReversed().map((kind) => ({
        fill: colourOf(COLOURS[kind]),
        width: 0,
        points: { show: false },
        ...(bars && { paths: bars }),
      })),
    ],
  };
}

/** The steps from one time of the axis to the next, s. The texts have no parts of a second. `space`: the width of a text, px. */
const AXIS_STEPS = {
  space: 60,
  incrs: [
    ...[1, 5, 10, 15, 30],
    ...[1, 5, 10, 15, 30].map((minutes) => minutes * 60),
    ...[1, 2, 3, 4, 6, 8, 12].map((hours) => hours * 3600),
    ...[1, 2, 3, 4, 5, 7, 10, 15].map((days) => days * 86_400),
  ],
};

/** The texts of the axis: [smallest step in s, text, text at a new year, at a new day, …], all on the clock of 24 hours. */
const AXIS_VALUES: uPlot.Axis.Values = [
  [86_400, "{D} {MMM}", null, null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
];
