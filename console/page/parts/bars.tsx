import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { isDark } from "../state.ts";
import { colourOf } from "./colours.ts";

type Props = {
  /** The beginning of the first bar, ms since the epoch. */
  readonly from: number;
  /** How long a bar lasts, ms. */
  readonly step: number;
  readonly counts: readonly number[];
  /** What the chart shows, for those who do not see it. */
  readonly label: string;
};

const HEIGHT = 36;

export function Bars({ from, step, counts, label }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const colours = isDark.value;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const plot = new uPlot(optionsOf(element.clientWidth, step), [[], []], element);
    chart.current = plot;
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [colours, step]);
  useEffect(() => {
    chart.current?.setData([counts.map((_, index) => (from + index * step) / 1000), [...counts]]);
  }, [from, step, counts, colours]);
  return <div class="bars" ref={place} role="img" aria-label={label} title={label} />;
}

function optionsOf(width: number, step: number): uPlot.Options {
  const bars = uPlot.paths.bars?.({ size: [0.8] });
  return {
    width,
    height: HEIGHT,
    padding: [2, 0, 2, 0],
    cursor: { show: false },
    legend: { show: false },
    axes: [{ show: false }, { show: false }],
    // A chart without jobs shows a line at 0, not a block.
    scales: {
      x: { range: (_, first, last) => [first - step / 2000, last + step / 2000] },
      y: { range: (_, __, most) => [0, Math.max(most, 1)] },
    },
    series: [
      {},
      { ...(bars && { paths: bars }), fill: colourOf("--accent-fill"), width: 0, points: { show: false } },
    ],
  };
}
