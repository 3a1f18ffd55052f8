/** Measures the console on a local stack with many pending jobs: how soon each view is there, and how fluently it scrolls and zooms. */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Browser, chromium, type Page } from "playwright-core";
import { freshDataDir, removeDataDir, startStack } from "../../e2e/running-stack.ts";
import { CHROMIUM } from "../chromium.ts";
import { fillTable } from "./fill.ts";
import { framesOf } from "./frames.ts";

const HELP = `Fills a local stack with pending jobs, spread over a day, opens the console in Chromium, and prints how fast it is.

  npm run bench:console -- [--jobs N] [--limits]

  --jobs N  how many jobs, 1 or more (1000000)
  --limits  exits with 1 if a first view takes a second or longer, if the whole day is not counted in time, or if a frame takes 50 ms or longer`;

const MINUTE = 60_000;
const FIRST_VIEW_MS = 1000;
const FRAME_MS = 50;
/** A whole day of 100,000 jobs is counted within this time. More jobs are counted within the longer time, or the page says how much it has counted. */
const COUNTED_MS = 5000;
const LONG_COUNTED_MS = 32_000;
/** How often a view is opened. The median counts. */
const OPENED = 5;
/** Within this time an idle stack answers a small call, ms. */
const IDLE_ANSWER_MS = 100;
const TURNS = 120;
const PATIENCE_MS = 120_000;

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "1000000" },
    limits: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});
const jobs = Number(values.jobs);
if (values.help) console.log(HELP);
else if (!Number.isSafeInteger(jobs) || jobs < 1) {
  console.error(`bench:console: --jobs must be a whole number of 1 or more, got ${values.jobs}\n\n${HELP}`);
  process.exitCode = 2;
} else process.exitCode = (await run()) || !values.limits ? 0 : 1;

async function run(): Promise<boolean> {
  const dataDir = freshDataDir();
  const portable = ["--database", "portable"];
  let stack = await startStack(dataDir, 0, portable);
  try {
    await stack.kill("SIGTERM");
    const began = performance.now();
    fillTable(dataDir, jobs, Date.now() + 5 * MINUTE);
    say(`wrote ${jobs.toLocaleString("en")} jobs in ${((performance.now() - began) / 1000).toFixed(0)} s`);
    stack = await startStack(dataDir, 0, portable);
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
    try {
      return (await measure(browser, stack.url)).every((isFine) => isFine);
    } finally {
      await browser.close();
    }
  } finally {
    await stack.kill("SIGTERM");
    removeDataDir(dataDir);
  }
}

async function measure(browser: Browser, url: string): Promise<boolean[]> {
  const open = (path: string): Promise<Page> => openPage(browser, `${url}${path}`);
  return [
    ...(await measureFirstViews(open, url)),
    ...(await measureOverview(open)),
    ...(await measureList(open)),
    ...(await measureTime(open)),
    ...(await measureCountedTime(open)),
  ];
}

type Open = (path: string) => Promise<Page>;

async function openPage(browser: Browser, url: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("pageerror", (error) => say(`error: ${error.message}`));
  await page.goto(url, { waitUntil: "commit" });
  return page;
}

async function measureFirstViews(open: Open, url: string): Promise<boolean[]> {
  const found: boolean[] = [];
  for (const [name, path, shown] of [
    ["overview", "/console", ".topics tbody tr"],
    ["time", "/console/time", ".lanes canvas"],
    ["jobs", "/console/jobs", ".rows .row"],
    ["jobs of a tag in a day", `/console/jobs?tag=batch-3&from=${at(0)}&to=${at(24 * 60)}`, ".rows .row"],
    ["dead", "/console/dead", "h1"],
  ] as const) {
    const times = await timesOfFirstView(open, path, shown, url);
    say(`${name}: first view after ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
    found.push((times[Math.floor(OPENED / 2)] ?? 0) < FIRST_VIEW_MS);
  }
  return found;
}

/** How long it takes until a view shows something of the queue: ms, the shortest time first. */
async function timesOfFirstView(open: Open, path: string, shown: string, url: string): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < OPENED; count++) {
    const began = performance.now();
    const page = await open(path);
    await page.locator(shown).first().waitFor();
    times.push(performance.now() - began);
    await page.close();
    await untilIdle(url);
  }
  return times.sort((a, b) => a - b);
}

async function isFluent(name: string, page: Page, act: () => Promise<void>): Promise<boolean> {
  const { p50, p99, longest, count } = await framesOf(page, act);
  say(
    `${name}: ${count} frames, ${p50.toFixed(0)} ms (p50), ${p99.toFixed(0)} ms (p99), ${longest.toFixed(0)} ms (longest)`,
  );
  return longest < FRAME_MS;
}

async function wheel(page: Page, place: string, by: (turn: number) => number): Promise<void> {
  await page.locator(place).first().hover();
  for (let turn = 0; turn < TURNS; turn++) await page.mouse.wheel(0, by(turn));
}

function zoom(page: Page): Promise<void> {
  return wheel(page, ".lanes", (turn) => (turn % 40 < 20 ? -100 : 100));
}

async function measureOverview(open: Open): Promise<boolean[]> {
  const overview = await open("/console");
  await overview.locator(".topics tbody tr").first().waitFor();
  const counting = await isFluent("overview while it counts", overview, () =>
    overview
      .getByRole("link", { name: /[1-9][\d,]* jobs? due in the next/ })
      .first()
      .waitFor(),
  );
  const scrolling = await isFluent("overview, scrolling", overview, () =>
    wheel(overview, "main", (turn) => (turn % 20 < 10 ? 120 : -120)),
  );
  await overview.close();
  return [counting, scrolling];
}

async function measureList(open: Open): Promise<boolean[]> {
  const list = await open(`/console/jobs?from=${at(0)}&to=${at(24 * 60)}`);
  await list.locator(".rows .row").first().waitFor();
  const down = await isFluent("jobs, scrolling while pages are read", list, () =>
    wheel(list, ".rows", () => 1500),
  );
  const back = await isFluent("jobs, scrolling back", list, () => wheel(list, ".rows", () => -1500));
  await list.close();
  return [down, back];
}

async function measureTime(open: Open): Promise<boolean[]> {
  const time = await open("/console/time");
  await time.locator(".lanes canvas").first().waitFor();
  const isZoomed = await isFluent("time, zooming while it counts", time, () => zoom(time));
  await time.close();
  return [isZoomed];
}

async function measureCountedTime(open: Open): Promise<boolean[]> {
  const began = performance.now();
  const counted = await open(`/console/time?from=${at(0)}&to=${at(24 * 60 + 10)}`);
  const status = counted.getByText("one bar is");
  const isOver = status.filter({ hasNotText: /Reading …|Counted/ });
  await isOver.waitFor();
  const seconds = (performance.now() - began) / 1000;
  const sum = await counted.getByRole("img", { name: /^Jobs of all topics/ }).getAttribute("aria-label");
  say(`time, the whole day: ${seconds.toFixed(1)} s. ${await status.textContent()} ${sum}`);
  const isCounted = seconds < (jobs <= 100_000 ? COUNTED_MS : LONG_COUNTED_MS) / 1000;
  const isZoomed = await isFluent("time, zooming", counted, () => zoom(counted));
  await counted.close();
  return [isCounted, isZoomed];
}

/** Waits until the stack answers at once, because it has ended what it did for a closed page. */
async function untilIdle(url: string): Promise<void> {
  for (let quick = 0; quick < 3; ) {
    const began = performance.now();
    await (await fetch(`${url}/topics`)).text();
    quick = performance.now() - began < IDLE_ANSWER_MS ? quick + 1 : 0;
    await sleep(IDLE_ANSWER_MS);
  }
}

function at(minutes: number): string {
  return encodeURIComponent(new Date(Date.now() + minutes * MINUTE).toISOString());
}

function say(line: string): void {
  console.log(line);
}
