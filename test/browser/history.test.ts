import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ASK, HISTORY_PATH } from "../../console/about.ts";
import type { History, HistoryAnswer, HistoryMinute, ReadHistory } from "../../console/history.ts";
import { answerHistory } from "../../console/own-answers.ts";
import { readPageFiles } from "../../console/page-files.ts";
import { consolePages } from "../../console/pages.ts";
import { openProxy } from "../../console/proxy.ts";
import { createClient } from "../../src/client/client.ts";
import { expectAccessible, expectNoOverflow } from "./accessible.ts";
import { testBrowser } from "./browser.ts";
import { stackUrl } from "./stack-url.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });
const MINUTE = 60_000;

const KEY = "a-key-of-this-test";

/** What the server of `base` answers. */
let answer: ReadHistory = slower;
/** The console of the tests' stack, as `minutehand console` serves it. */
let base: string;
let stop: () => Promise<void>;
beforeAll(async () => {
  const url = stackUrl;
  ({ address: base, stop } = await openProxy({
    pages: consolePages(await readPageFiles(), ASK),
    about: { queue: "Shop", url, auth: "none", hasLive: false },
    own: { [HISTORY_PATH]: answerHistory((asked) => answer(asked)) },
    url,
    authorize: async ({ headers }) => headers,
    key: KEY,
    host: "minutehand-of-this-test.localhost",
    port: 0,
  }));
});
afterAll(() => stop?.());

/** Opens a view of a console whose server gives this history. */
function open(path: string, history: ReadHistory) {
  answer = history;
  return browser.open(`${path}#key=${KEY}`, { base });
}

/** Twelve jobs a minute. The slowest were 900 ms late until half an hour ago, and are 2.7 s late since. */
async function slower({ hours, topic }: Parameters<ReadHistory>[0]): Promise<HistoryAnswer> {
  const to = Date.now();
  const first = to - (to % MINUTE);
  const minutes = Array.from({ length: hours * 60 }, (_, place): HistoryMinute => {
    const ago = hours * 60 - place - 1;
    const p99 = ago < 30 ? 2700 : 900;
    return {
      at: first - ago * MINUTE,
      started: 12,
      failed: ago < 30 ? 2 : 0,
      dead: ago === 3 ? 1 : 0,
      late: { p50: p99 / 3, p99 },
      ...(topic && { steps: [3, 5, ago < 30 ? 0 : 3, 0, ago < 30 ? 3 : 0, ago < 30 ? 1 : 0, 0, 0, 0, 1] }),
    };
  });
  return { from: to - hours * 60 * MINUTE, to, topics: [{ topic: "work", minutes }] };
}

test("a topic's view counts the runs of the stack by minute, soon after they started", async () => {
  await api.enqueue("reminders", {}, { delay: 0 });
  await api.enqueue("reminders", { fails: "no shop" }, { delay: 0, maxAttempts: 1 });
  const page = await browser.open("/console/topics/reminders");
  await page.getByRole("heading", { name: "reminders", exact: true }).waitFor();
  await page
    .getByText(/jobs? started in the last 10 minutes, half of them within .* and 99 % within/)
    .waitFor();
  await page.getByText("Nothing is known of an hour ago").waitFor();
  await page.getByText("The numbers as a table").press("Enter");
  const numbers = page.getByRole("region", { name: "The numbers" });
  await expect
    .poll(async () => {
      const rows = await numbers.locator("tbody tr").all();
      const counts = await Promise.all(rows.map((row) => row.locator("td").allTextContents()));
      const sum = (column: number) => counts.reduce((all, cells) => all + Number(cells[column]), 0);
      return sum(1) >= 2 && sum(3) >= 1;
    })
    .toBe(true);
  await page
    .getByRole("img", { name: /^Jobs in \d+ minutes: [1-9]\d* started, \d+ failed, [1-9]\d* died$/ })
    .waitFor();
});

test("how late a topic is now, compared with an hour ago, is one sentence", async () => {
  const page = await open("/console/topics/work", slower);
  await page
    .getByText(
      /^1\d\d jobs started in the last 10 minutes, half of them within 900 ms and 99 % within 2.7 s of their due time, not counting waits for a pause, a limit or a window. An hour ago it was 300 ms and 900 ms: the slowest jobs are now 3 times as late.$/,
    )
    .waitFor();
  const late = page.getByRole("row", { name: /^1 s to 2 s/ });
  expect(await late.getByRole("cell").allTextContents()).toEqual([expect.stringMatching(/^9\d/), "00 %"]);
});

test("an hour ago is known also while only the last hour is shown", async () => {
  const page = await open("/console/topics/work?hours=1", slower);
  await page
    .getByText(/An hour ago it was 300 ms and 900 ms: the slowest jobs are now 3 times as late/)
    .waitFor();
  await page.getByRole("columnheader", { name: "The hour before" }).waitFor();
  await page.getByText("The numbers as a table").press("Enter");
  const rows = page.getByRole("region", { name: "The numbers" }).locator("tbody tr");
  expect(await rows.count()).toBeLessThanOrEqual(61);
});

test("the shown hours are in the address", async () => {
  const asked = new Set<number>();
  const page = await open("/console/topics/work?hours=1", async (one) => {
    asked.add(one.hours);
    return slower(one);
  });
  await page.getByRole("img", { name: /^Lateness in 61 minutes/ }).waitFor();
  await page.getByRole("button", { name: "6 hours" }).click();
  await page.getByRole("img", { name: /^Lateness in 361 minutes/ }).waitFor();
  expect(new URL(page.url()).search).toBe("?hours=6");
  expect([...asked]).toEqual([3, 6]);
});

test("the numbers of the minute at the pointer stand below the charts", async () => {
  const page = await open("/console/topics/work?hours=1", slower);
  await page.getByRole("img", { name: /^Jobs in 61 minutes/ }).hover({ position: { x: 200, y: 40 } });
  await page.getByText(/: 12 started, 0 failed, 0 died, p50 300 ms, p99 900 ms late$/).waitFor();
});

test("the overview has the last hours of each topic as lines, with their last values", async () => {
  const page = await open("/console", slower);
  await page
    .getByRole("img", {
      name: "Lateness in the last 3 hours, at most 2.7 s: 99 % of the jobs of the last 10 minutes were at most 2.7 s late, compared with an hour ago 3 times as late",
    })
    .waitFor();
  await page
    .getByRole("img", {
      name: /^Jobs in the last 3 hours; in the last 10 minutes 1\d\d started, 2\d failed, 1 died$/,
    })
    .waitFor();
});

/** Jobs start much later since half an hour ago, and nothing else needs a person. Opens a view, and answers how often the history is read. */
async function openMuchLater(path: string) {
  const read = { times: 0 };
  const page = await open(path, async (asked) => {
    read.times += 1;
    const known = (await slower(asked)) as History;
    const minutes = known.topics[0]?.minutes.map((one) =>
      one.at < known.to - 30 * MINUTE ? one : { ...one, late: { p50: 40_000, p99: 90_000 } },
    );
    // So the topics are known first.
    await setTimeout(500);
    return { ...known, topics: [{ topic: "work", minutes: minutes ?? [] }] };
  });
  const calm = { depths: { ready: 0, delayed: 0, inFlight: 0, dead: 0 }, sweepLag: 0 };
  const topics = (await api.topics()).map(({ pause: _, ...report }) => ({
    ...{ ...report, ...calm, late: { count: 0 }, retrying: { count: 0 } },
  }));
  await page.route("**/topics", (route) => route.fulfill({ json: { topics } }));
  await page.route("**/schedules*", (route) => route.fulfill({ json: { schedules: [] } }));
  await page.reload();
  return { page, read };
}

test("the frame of each view counts a topic that starts its jobs much later than an hour ago, and reads the history rarely", async () => {
  const { page, read } = await openMuchLater("/console/jobs");
  await page.getByRole("link", { name: "1 needs you" }).waitFor();
  await page.waitForTimeout(3000);
  // The page was loaded twice.
  expect(read.times).toBeLessThanOrEqual(2);
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page
    .getByText(
      "The jobs of work start later than an hour ago: half of them 40 s late or more, an hour ago 300 ms.",
    )
    .click();
  await page.getByRole("heading", { name: "work", exact: true }).waitFor();
});

test("a topic that starts its jobs much later than an hour ago is the first of the overview", async () => {
  const { page } = await openMuchLater("/console");
  await expect.poll(() => page.locator("table.topics tbody th a").first().textContent()).toBe("work");
  await page.getByText("needs you", { exact: true }).waitFor();
});

test("without a history, the views say why", async () => {
  const why = "your credentials need the right cloudwatch:GetMetricData";
  const page = await open("/console/topics/work", async () => ({ why }));
  await page.getByText(`There is no history: ${why}.`).waitFor();
  await page.getByRole("button", { name: "Pause work …" }).waitFor();
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.getByText(`There is no history: ${why}.`).waitFor();
});

test("what the server could not read is unknown, and not 0", async () => {
  const why = "CloudWatch did not give all values of the metric Failed (Sum): InternalError";
  const page = await open("/console/topics/work?hours=1", async (asked) => {
    const known = (await slower(asked)) as History;
    const topics = known.topics.map((topic) => ({ ...topic, unknown: { parts: ["failed" as const], why } }));
    return { ...known, topics };
  });
  await page.getByText(`Not all is known: ${why}.`).waitFor();
  await page.getByText(/: 12 started, unknown failed, 0 died, p50 900 ms, p99 2.7 s late$/).waitFor();
  await page
    .getByRole("img", { name: /^Jobs in 61 minutes: \d+ started, unknown failed, 1 died$/ })
    .waitFor();
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page
    .getByRole("img", { name: /; in the last 10 minutes 1\d\d started, unknown failed, 1 died: CloudWatch/ })
    .waitFor();
});

test("a topic that does not exist leads to those that do", async () => {
  const page = await browser.open("/console/topics/nobody");
  await page.getByText("The queue has no topic nobody. It has these:").waitFor();
  await page.getByRole("link", { name: "work", exact: true }).click();
  await page.getByRole("heading", { name: "work", exact: true }).waitFor();
});

test("a topic can be paused and resumed from its view", async () => {
  const page = await browser.open("/console/topics/precise");
  await page.getByRole("button", { name: "Pause precise …" }).click();
  await page.getByRole("button", { name: "Pause the topic" }).click();
  await page.getByRole("button", { name: "Resume precise …" }).click();
  await page.getByRole("button", { name: "Resume the topic" }).click();
  await page.getByText("Resumed precise. 0 jobs were released.").waitFor();
});

test("a topic's view is accessible and fits at each width, in both colours", async () => {
  const page = await open("/console/topics/work", slower);
  await page.getByText("How many jobs were how late").waitFor();
  await page.getByText("The numbers as a table").press("Enter");
  for (const width of [1440, 768, 360]) {
    await page.setViewportSize({ width, height: 900 });
    await expectNoOverflow(page);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page);
    }
  }
});
