import { App, Stack } from "aws-cdk-lib";
import { CfnAlarm, CfnDashboard } from "aws-cdk-lib/aws-cloudwatch";
import { DelayQueue } from "../../infra/delay-queue.ts";
import { CAPTION, HOUR, LINES, MINUTES, RINGING } from "./example-incident.ts";

/** A widget as the body of a dashboard declares it. Places and sizes are in units of a grid with 24 columns. */
type Widget = {
  readonly type: "text" | "alarm" | "metric";
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly properties: {
    readonly title?: string;
    readonly markdown?: string;
    readonly metrics?: readonly (readonly unknown[])[];
    readonly annotations?: { readonly horizontal?: readonly { readonly value: number }[] };
  };
};

/** An alarm: what it rings at. `source`: the logical id of the queue or the prefix that the metric is about. */
type Threshold = {
  readonly id: string;
  readonly metric: string;
  readonly source: string;
  readonly value: number;
};

/** px of a column, and of a line of the grid. */
const COLUMN = 40;
const LINE = 16;
const GAP = 4;
/** px of the caption above the dashboard. */
const CAPTION_LINE = 18;

/** Draws the dashboard of an example queue in an example hour. Layout, titles and thresholds are those of the construct. */
export function dashboardPicture(): string {
  const { widgets, thresholds } = declared();
  const top = CAPTION.length * CAPTION_LINE + 14;
  const height = top + Math.max(...widgets.map(({ y, height }) => y + height)) * LINE + 2 * GAP;
  const caption = CAPTION.map(
    (text, line) => `  <text class="quiet" x="12" y="${20 + line * CAPTION_LINE}">${escaped(text)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${24 * COLUMN} ${height}" font-family="system-ui, sans-serif" font-size="13">
  <title>The dashboard in an example hour</title>
${STYLE}
  <rect class="back" width="${24 * COLUMN}" height="${height}" rx="12" />
${caption.join("\n")}
  <g transform="translate(0 ${top})">
${widgets.map((widget) => drawn(widget, thresholds)).join("\n")}
  </g>
</svg>
`;
}

const STYLE = `  <style>
    .back { fill: #f6f8fa; }
    .card { fill: #fff; stroke: #d0d7de; }
    text { fill: #1f2328; }
    .quiet { fill: #59636e; }
    .small { font-size: 10.5px; fill: #59636e; }
    .head { font-weight: 600; }
    .line { fill: none; stroke-width: 1.6; }
    .l0 { stroke: #2563eb; fill: #2563eb; }
    .l1 { stroke: #b45309; fill: #b45309; }
    .l2 { stroke: #6b7280; fill: #6b7280; }
    .line.l0, .line.l1, .line.l2 { fill: none; }
    .limit { stroke: #cf222e; stroke-dasharray: 4 3; }
    .rings { fill: #cf222e; }
    .calm { fill: #1a7f37; }
    @media (prefers-color-scheme: dark) {
      .back { fill: #161b22; }
      .card { fill: #21262d; stroke: #3d444d; }
      text { fill: #e6edf3; }
      .quiet, .small { fill: #9198a1; }
      .l0 { stroke: #60a5fa; fill: #60a5fa; }
      .l1 { stroke: #f0a04b; fill: #f0a04b; }
      .l2 { stroke: #9ca3af; fill: #9ca3af; }
      .limit { stroke: #ff7b72; }
      .rings { fill: #ff7b72; }
      .calm { fill: #3fb950; }
    }
  </style>`;

function declared(): { widgets: Widget[]; thresholds: Threshold[] } {
  const stack = new Stack(new App(), "Shop", { env: { region: "eu-central-1" } });
  const topics = { "order-timeout": {}, "payment-notice": { alarms: ["Dead", "Backlog"] } } as const;
  new DelayQueue(stack, "Jobs", { topics, dashboard: true });
  const all = stack.node.findAll();
  const dashboard = all.find((construct) => construct instanceof CfnDashboard);
  const body = JSON.stringify(stack.resolve(dashboard?.dashboardBody));
  // Only a deployment knows the names of queues. Their logical ids stand for them.
  const text = (JSON.parse(body) as { "Fn::Join": [string, unknown[]] })["Fn::Join"][1]
    .map((part) => (typeof part === "string" ? part : logicalId(part)))
    .join("");
  const alarms = all.filter((construct) => construct instanceof CfnAlarm);
  const thresholds = alarms.map((alarm) => {
    const [dimension] = stack.resolve(alarm.dimensions) as { value: unknown }[];
    return {
      id: alarm.node.path,
      metric: alarm.metricName ?? "",
      source: logicalId(dimension?.value),
      value: alarm.threshold ?? 0,
    };
  });
  return { widgets: (JSON.parse(text) as { widgets: Widget[] }).widgets, thresholds };
}

function logicalId(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const [found] = Object.values(value).flat();
  return String(found);
}

function drawn(widget: Widget, thresholds: readonly Threshold[]): string {
  const { type, x, y, width, height, properties } = widget;
  const [left, top] = [x * COLUMN + GAP, y * LINE + GAP];
  const { markdown, title = "" } = properties;
  if (type === "text")
    return `  <text class="head" x="${left + 8}" y="${top + LINE - 2}">${escaped((markdown ?? "").replace(/^#+ /, ""))}</text>`;
  const [wide, high] = [width * COLUMN - 2 * GAP, height * LINE - GAP];
  const card = `  <rect class="card" x="${left}" y="${top + GAP}" width="${wide}" height="${high}" rx="6" />
  <text x="${left + 10}" y="${top + GAP + 18}">${escaped(title)}</text>`;
  const area = { left: left + 10, top: top + GAP + 30, wide: wide - 20, high: high - 62 };
  return type === "alarm"
    ? `${card}\n${alarms(thresholds, left + 10, top + GAP + 42)}`
    : `${card}\n${graph(widget, limitOf(widget, thresholds), area)}`;
}

function alarms(thresholds: readonly Threshold[], left: number, top: number): string {
  const isRinging = ({ id }: Threshold) => RINGING.some((name) => id.includes(`/${name.replace(" ", "")}/`));
  const ringing = thresholds.filter(isRinging).length;
  if (ringing !== RINGING.length) throw new Error(`the construct lacks an alarm of ${RINGING.join(", ")}`);
  const calm = thresholds.length - ringing;
  return `  <text class="rings" x="${left}" y="${top}">● ${RINGING.join("   ● ")}</text>
  <text class="calm" x="${left + 360}" y="${top}">✓ ${calm} others are calm</text>`;
}

/** Where the graph has a line at which an alarm rings. */
function limitOf({ properties }: Widget, thresholds: readonly Threshold[]): number | undefined {
  const { title = "", metrics = [], annotations } = properties;
  // Alarms count minutes.
  if (title.endsWith("an hour")) return undefined;
  const alarm = thresholds.find(({ metric, source }) =>
    metrics.some((one) => one[1] === metric && one.includes(source)),
  );
  return annotations?.horizontal?.[0]?.value ?? alarm?.value;
}

type Area = { readonly left: number; readonly top: number; readonly wide: number; readonly high: number };

function graph({ properties: { title = "" } }: Widget, limit: number | undefined, area: Area): string {
  const { left, top, wide, high } = area;
  const lines = Object.entries(LINES[title] ?? { "nothing happened": Array(MINUTES).fill(0) });
  const most = Math.max(1, ...lines.flatMap(([, values]) => values), limit ?? 0) * 1.05;
  const at = (minute: number) => left + (minute / (MINUTES - 1)) * wide;
  const of = (value: number) => top + high - (value / most) * high;
  const paths = lines.map(([, values], line) => {
    const points = values.map((value, minute) => `${at(minute).toFixed(1)} ${of(value).toFixed(1)}`);
    return `  <path class="line l${line % 3}" d="M${points.join("L")}" />`;
  });
  const names = lines.map(
    ([name], line) =>
      `  <circle class="l${line % 3}" cx="${left + 4 + (line * wide) / lines.length}" cy="${top + high + 22}" r="3" /><text class="small" x="${left + 11 + (line * wide) / lines.length}" y="${top + high + 26}">${escaped(name)}</text>`,
  );
  const ring =
    limit === undefined
      ? []
      : [
          `  <path class="line limit" d="M${left} ${of(limit).toFixed(1)}H${left + wide}" />`,
          `  <text class="small rings" x="${left + wide}" y="${(of(limit) - 3).toFixed(1)}" text-anchor="end">alarm from ${limit.toLocaleString("en")}</text>`,
        ];
  const times = [0, MINUTES / 2].map(
    (minute) =>
      `  <text class="small" x="${at(minute).toFixed(1)}" y="${top + high + 11}">${HOUR}:${String(minute).padStart(2, "0")}</text>`,
  );
  const highest = `  <text class="small" x="${left + wide}" y="${top + high + 11}" text-anchor="end">highest ${Math.round(most / 1.05).toLocaleString("en")}</text>`;
  return [...paths, ...ring, highest, ...times, ...names].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
