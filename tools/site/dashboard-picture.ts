import { App, Stack } from "aws-cdk-lib";
import { CfnDashboard } from "aws-cdk-lib/aws-cloudwatch";
import { DelayQueue } from "../../infra/delay-queue.ts";

/** A widget as the body of a dashboard declares it. Places and sizes are in units of a grid with 24 columns. */
type Widget = {
  readonly type: "text" | "alarm" | "metric";
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly properties: { readonly title?: string; readonly markdown?: string };
};

/** px of a column, and of a line of the grid. */
const COLUMN = 40;
const LINE = 13;
const GAP = 4;

export function dashboardPicture(): string {
  const widgets = widgetsOf();
  const height = Math.max(...widgets.map(({ y, height }) => y + height)) * LINE + 2 * GAP;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${24 * COLUMN} ${height}" font-family="system-ui, sans-serif" font-size="13">
  <title>The layout of the dashboard</title>
  <style>
    .back { fill: #f6f8fa; }
    .card { fill: #fff; stroke: #d0d7de; }
    text { fill: #1f2328; }
    .head { font-weight: 600; }
    .line { fill: none; stroke: #2563eb; stroke-width: 1.5; }
    @media (prefers-color-scheme: dark) {
      .back { fill: #161b22; }
      .card { fill: #21262d; stroke: #3d444d; }
      text { fill: #e6edf3; }
      .line { stroke: #60a5fa; }
    }
  </style>
  <rect class="back" width="${24 * COLUMN}" height="${height}" rx="12" />
${widgets.map(drawn).join("\n")}
</svg>
`;
}

function widgetsOf(): Widget[] {
  const stack = new Stack(new App(), "Shop", { env: { region: "eu-central-1" } });
  new DelayQueue(stack, "Jobs", { topics: { "order-timeout": {} }, dashboard: true });
  const [dashboard] = stack.node.findAll().filter((construct) => construct instanceof CfnDashboard);
  // Leave out the names that only a deployment knows: they are in no title.
  const body = JSON.stringify(stack.resolve(dashboard?.dashboardBody));
  const text = (JSON.parse(body) as { "Fn::Join": [string, unknown[]] })["Fn::Join"][1]
    .map((part) => (typeof part === "string" ? part : ""))
    .join("");
  return (JSON.parse(text) as { widgets: Widget[] }).widgets;
}

function drawn({ type, x, y, width, height, properties }: Widget): string {
  const [left, top] = [x * COLUMN + GAP, y * LINE + GAP];
  const { markdown, title = "" } = properties;
  if (type === "text")
    return `  <text class="head" x="${left + 8}" y="${top + LINE - 2}">${escaped((markdown ?? "").replace(/^#+ /, ""))}</text>`;
  const [wide, high] = [width * COLUMN - 2 * GAP, height * LINE - GAP];
  const card = `  <rect class="card" x="${left}" y="${top + GAP}" width="${wide}" height="${high}" rx="6" />
  <text x="${left + 10}" y="${top + GAP + 18}">${escaped(title)}</text>`;
  if (type === "alarm") return card;
  const [from, base] = [left + 10, top + high - 4];
  const points = [0, 3, 1, 6, 2, 4, 1, 2].map(
    (rise, i) => `${from + (i * (wide - 20)) / 7} ${base - rise * 3}`,
  );
  return `${card}\n  <path class="line" d="M${points.join("L")}" />`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
