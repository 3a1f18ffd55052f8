import type { State } from "../../src/core/home.ts";
import { CHANGES, type Row } from "../../src/core/states.ts";

type Place = { readonly x: number; readonly y: number };
/** px. The places are the centres of the boxes. */
const PLACES: Readonly<Record<State | "nothing", Place>> = {
  nothing: { x: 60, y: 150 },
  scheduled: { x: 260, y: 150 },
  running: { x: 680, y: 150 },
  expired: { x: 130, y: 410 },
  cancelled: { x: 360, y: 410 },
  dead: { x: 590, y: 410 },
  done: { x: 800, y: 410 },
};
const WIDTH = 900;
const HEIGHT = 460;
const BOX = { wide: 116, high: 44 };
/** How far the lines between two boxes lie from the straight line if they go both ways, and how far labels lie from their line: px. */
const APART = 12;
const LINE = 15;

const STYLE = `  <style>
    .panel { fill: #f6f8fa; }
    .live { fill: #dbeafe; stroke: #2563eb; stroke-width: 1.5; }
    .end { fill: #fff; stroke: #57606a; stroke-width: 1.5; }
    .line { fill: none; stroke: #57606a; stroke-width: 1.5; marker-end: url(#arrow); }
    text { fill: #1f2328; text-anchor: middle; }
    .label { fill: #57606a; font-size: 13px; stroke: #f6f8fa; stroke-width: 5; paint-order: stroke; }
    .tip { fill: #57606a; }
    @media (prefers-color-scheme: dark) {
      .panel { fill: #161b22; }
      .live { fill: #172554; stroke: #60a5fa; }
      .end { fill: #21262d; stroke: #8b949e; }
      .line { stroke: #8b949e; }
      text { fill: #e6edf3; }
      .label { fill: #adbac7; stroke: #161b22; }
      .tip { fill: #8b949e; }
    }
  </style>
`;

export function statesPicture(): string {
  const between = Map.groupBy(
    Object.entries<Row>(CHANGES),
    ([, { from = "nothing", to = from }]) => `${from} ${to}`,
  );
  const arrows = [...between].map(([pair, rows]) => {
    const [from, to] = pair.split(" ") as [State | "nothing", State];
    const names = rows.map(([name]) => name);
    return from === to ? loop(from, names) : arrow(from, to, names, between.has(`${to} ${from}`));
  });
  const boxes = Object.entries(PLACES).map(([state, { x, y }]) =>
    state === "nothing"
      ? `  <circle class="tip" cx="${x}" cy="${y}" r="7" />`
      : `  <rect class="${state === "scheduled" || state === "running" ? "live" : "end"}" x="${x - BOX.wide / 2}" y="${y - BOX.high / 2}" width="${BOX.wide}" height="${BOX.high}" rx="8" />
  <text x="${x}" y="${y + 5}">${state}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="15">
  <title>The states of a job</title>
${STYLE}  <defs>
    <marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
      <path class="tip" d="M0 0 10 5 0 10z" />
    </marker>
  </defs>
  <rect class="panel" width="${WIDTH}" height="${HEIGHT}" rx="12" />
${[...arrows.map(({ line }) => line), ...boxes, ...arrows.map(({ labels }) => labels)].join("\n")}
</svg>
`;
}

type Arrow = { readonly line: string; readonly labels: string };

function arrow(from: State | "nothing", to: State, names: readonly string[], isBothWays: boolean): Arrow {
  const [start, end] = [PLACES[from], PLACES[to]];
  const [dx, dy] = [end.x - start.x, end.y - start.y];
  // The arrow back lies on the other side. Arrows that are not level are moved sideways, so that they still end at the boxes.
  const side = isBothWays ? APART : 0;
  const [offX, offY] = dy === 0 ? [0, -Math.sign(dx) * side] : [Math.sign(dy) * side, 0];
  const leave = from === "nothing" ? 10 / Math.hypot(dx, dy) : edgeOf(dx, dy);
  const arrive = 1 - edgeOf(dx, dy);
  const at = (share: number): Place => ({ x: start.x + dx * share + offX, y: start.y + dy * share + offY });
  // Where lines are close together, labels stand nearer to the arrow's beginning.
  const share = dy !== 0 && (isBothWays || from === "nothing") ? 0.3 : 0.5;
  const [a, b, label] = [at(leave), at(arrive), at(leave + (arrive - leave) * share)];
  const line = `  <path class="line" d="M${point(a)} ${point(b)}" />`;
  // Labels of level lines stand above or below them, labels of other lines on them.
  const above = dx > 0 ? -LINE * (names.length - 1) - 8 : LINE + 4;
  const y = dy === 0 ? label.y + above : label.y - (LINE * (names.length - 1)) / 2 + 4;
  return { line, labels: labelsOf(names, { x: label.x, y }) };
}

/** The arrow of changes that leave the state as it is: above the box. */
function loop(state: State | "nothing", names: readonly string[]): Arrow {
  const { x, y } = PLACES[state];
  const top = y - BOX.high / 2;
  const line = `  <path class="line" d="M${x - 22} ${top} C${x - 40} ${top - 44} ${x + 40} ${top - 44} ${x + 22} ${top}" />`;
  return { line, labels: labelsOf(names, { x, y: top - 42 - LINE * (names.length - 1) }) };
}

/** The share of the way from the centre of a box at which it leaves the box. */
function edgeOf(dx: number, dy: number): number {
  return Math.min(BOX.wide / 2 / Math.abs(dx || 1e-9), BOX.high / 2 / Math.abs(dy || 1e-9));
}

function labelsOf(names: readonly string[], { x, y }: Place): string {
  return names
    .map(
      (name, i) =>
        `  <text class="label" x="${Math.round(x)}" y="${Math.round(y + i * LINE)}">${name}</text>`,
    )
    .join("\n");
}

function point({ x, y }: Place): string {
  return `${Math.round(x)} ${Math.round(y)}`;
}
