export type Aim = { readonly text: string; readonly met: boolean };

export type Row = {
  readonly figure: string;
  readonly ours: string;
  readonly ceiling?: string;
  /** Ours compared with the ceiling. In each line, more is better. */
  readonly ratio?: number;
  readonly aim?: Aim;
};

const HEADINGS = ["figure", "Minutehand", "ceiling", "ratio", "aim", ""];

export function markdownTable(rows: readonly Row[]): string {
  const lines = rows.map(({ figure, ours, ceiling = "–", ratio, aim }) => [
    figure,
    ours,
    ceiling,
    ratio === undefined ? "–" : ratio.toFixed(2),
    aim?.text ?? "–",
    aim === undefined ? "" : aim.met ? "met" : "missed",
  ]);
  const rule = HEADINGS.map((_, column) => (column > 0 && column < 4 ? "--:" : "---"));
  return [HEADINGS, rule, ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export function atLeast(value: number, least: number, text = `≥ ${least}`): Aim {
  return { text, met: value >= least };
}

export function atMost(value: number, most: number, text = `≤ ${most}`): Aim {
  return { text, met: value <= most };
}

export function perSecond(value: number): string {
  return `${Math.round(value).toLocaleString("en")}/s`;
}

export function inMs(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en")} ms`;
}

export function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
