import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { JobSummary, TopicReport } from "../../src/client/answers.ts";
import { createClient } from "../../src/client/client.ts";
import { expectAccessible, expectNoOverflow } from "./accessible.ts";
import { testBrowser } from "./browser.ts";
import { clockOff } from "./clock-off.ts";
import { playScene } from "./scene.ts";
import { stackUrl } from "./stack-url.ts";
import { TIME } from "./time-text.ts";
import { topicRow } from "./topic-row.ts";

const browser = testBrowser();
const url = stackUrl;
const api = createClient({ url });
const MINUTE = 60_000;

type Changes = Readonly<Record<string, Partial<TopicReport>>>;

/** Opens the overview of a queue whose topics are calm, except for `changes`. */
async function openWith(changes: Changes, more: (page: Page) => Promise<unknown> = async () => {}) {
  const page = await browser.open("/console/enqueue", { timezoneId: "UTC" });
  const topics = (await api.topics()).map(({ pause: _, sampledSince: __, ...report }) => ({
    ...report,
    depths: { ready: 0, delayed: 0, inFlight: 0, dead: 0 },
    sweepLag: 0,
    late: { count: 0 },
    retrying: { count: 0 },
    ...changes[report.topic],
  }));
  await page.route(`${url}/topics`, (route) => route.fulfill({ json: { topics } }));
  await page.route(/\/schedules/, (route) => route.fulfill({ json: { schedules: [] } }));
  await page.route(/\/topics\/[^/]+\/dead/, (route) => route.fulfill({ json: { jobs: [], at: ago(0) } }));
  await more(page);
  await page.goto(`${url}/console`);
  await page.getByText("What needs you").waitFor();
  return page;
}

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const depths = { ready: 0, delayed: 0, inFlight: 0 };

const dead = (lastError: string, index: number): JobSummary => ({
  id: `01KJMA0SCG008DS270HCQCKA${String(index).padStart(2, "0")}`,
  topic: "reminders",
  state: "dead",
  dueAt: ago(MINUTE),
  revision: 0,
  attempt: 3,
  maxAttempts: 3,
  createdAt: ago(2 * MINUTE),
  lastError,
});

const TROUBLED: Changes = {
  precise: {
    pause: {
      state: "paused",
      since: ago(10 * MINUTE),
      by: { kind: "caller", name: "alice", reason: "the mail server is down" },
      parked: 5,
    },
  },
  events: {
    retrying: {
      count: 63,
      error: "HTTP 503 from the shop\n  at call",
      failedAt: ago(MINUTE),
      next: ago(-2.5 * MINUTE),
    },
  },
  reminders: { depths: { ...depths, dead: 12 }, late: { count: 1, since: ago(3 * MINUTE) } },
  work: { late: { count: 1000, atLeast: true, since: ago(5 * MINUTE) } },
};

async function openTroubled(): Promise<Page> {
  return openWith(TROUBLED, async (page) => {
    const errors = [...Array(9).fill("HTTP 503 from the shop"), ...Array(3).fill("TypeError: no price")];
    await page.route(/\/topics\/reminders\/dead/, (route) =>
      route.fulfill({ json: { jobs: errors.map(dead), at: ago(0) } }),
    );
    await page.route(/\/schedules/, async (route) => {
      const common = {
        expression: "rate(1 hour)",
        timezone: "UTC",
        createdAt: ago(MINUTE),
        next: [ago(-MINUTE)],
      };
      const schedules = [
        { ...common, name: "weekly", topic: "work", paused: true },
        { ...common, name: "lost", topic: "gone", paused: false },
      ];
      await route.fulfill({ json: { schedules } });
    });
  });
}

test("what needs a person is ranked, and each line leads to the view that settles it", async () => {
  const page = await openTroubled();
  const links = page.locator(".needs > ul > li").getByRole("link");
  await expect.poll(() => links.count()).toBe(7);
  const texts = await links.allTextContents();
  const patterns = [
    `^1,000 or more jobs of work should have started and have not, the oldest since ${TIME} UTC\\.$`,
    `^1 job of reminders should have started and has not, the oldest since ${TIME} UTC\\.$`,
    "^The schedule lost cannot file its jobs: the queue has no topic gone\\.$",
    "^12 jobs of reminders are dead and wait for a decision\\.$",
    "^63 jobs of events have failed and will be retried; the next retry is in 2 min\\.$",
    `^precise has been paused since ${TIME} UTC and holds 5 jobs, by a caller \\(alice\\): the mail server is down\\.$`,
    "^The schedule weekly is paused, and files no jobs\\.$",
  ];
  for (const [place, pattern] of patterns.entries()) expect(texts[place]).toMatch(new RegExp(pattern));
  const targets = await links.evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href));
  const paths = ["jobs", "jobs", "schedules/lost", "dead", "jobs", "jobs", "schedules/weekly"];
  expect(targets.map((href) => new URL(href).pathname)).toEqual(paths.map((path) => `/console/${path}`));
  expect(targets.map((href) => new URL(href).searchParams.get("state")).filter(Boolean)).toEqual([
    ...["late", "late", "retrying", "scheduled"],
  ]);
  await topicRow(page, "work").getByRole("link", { name: "work", exact: true }).click();
  const figure = page.getByRole("link", { name: "1,000+", exact: true });
  expect(new URL((await figure.getAttribute("href")) ?? "", url).href).toBe(targets[0]);
  await page.goBack();
  await page.getByText("9 × HTTP 503 from the shop").waitFor();
  await page.getByText("3 × TypeError: no price").waitFor();
  await page.getByText("Newest error, 1 min ago: HTTP 503 from the shop", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Redrive all …" }).waitFor();
  await page.locator(".needs").getByRole("button", { name: "Resume precise …" }).waitFor();
  await topicRow(page, "work").getByRole("link", { name: "1,000+ late" }).waitFor();
  await topicRow(page, "events").getByRole("link", { name: "63", exact: true }).waitFor();
});

test("a troubled overview is accessible and fits at each width, in both colours", async () => {
  const page = await openTroubled();
  // The bar of an action of an earlier test would cover a part of a button until one scrolls, and axe counts only the rest.
  await page.route("**/console/actions", (route) => route.fulfill({ json: { actions: [] } }));
  await expect.poll(() => page.locator(".carried li").count()).toBe(0);
  await page.getByText("9 × HTTP 503 from the shop").waitFor();
  for (const width of [2560, 1440, 1160, 768, 360]) {
    await page.setViewportSize({ width, height: 900 });
    await expectNoOverflow(page);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page);
    }
  }
});

test("all views count the dead jobs, and not the letters that outlast a redrive; an untracked topic has letters", async () => {
  const page = await openWith(
    { reminders: { depths: { ...depths, dead: 113 } }, readings: { depths: { ...depths, dead: 4 } } },
    (opened) =>
      opened.route(/\/topics\/reminders\/dead/, (route) =>
        route.fulfill({ json: { jobs: Array(39).fill("no price").map(dead), at: ago(0) } }),
      ),
  );
  await page.getByRole("link", { name: "39 jobs of reminders are dead and wait for a decision." }).waitFor();
  await page.getByRole("link", { name: "4 letters wait in the dead-letter queue of readings." }).waitFor();
  await topicRow(page, "reminders").getByRole("link", { name: "39", exact: true }).waitFor();
  await topicRow(page, "readings").getByText("4 letters").waitFor();
  await page.getByRole("navigation").getByText("39", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Dead", exact: true }).click();
  await page.getByRole("link", { name: "reminders: 39 dead" }).click();
  await page.getByText("39 dead jobs, grouped by error.").waitFor();
  await page.goto(`${url}/console/topics/reminders`);
  await page.getByRole("link", { name: "39", exact: true }).waitFor();
});

test("a calm queue says so in one line, also if only a sample of its jobs was looked at", async () => {
  const page = await openWith({ work: { sampledSince: ago(MINUTE), late: { count: 0, atLeast: true } } });
  await page.getByText("of the jobs that were looked at none is late, and the sweep is on time.").waitFor();
  await page
    .getByText(new RegExp(`^Only a sample of the jobs that were due since ${TIME} UTC was looked at\\.`))
    .waitFor();
  await page.getByRole("link", { name: "All is calm" }).waitFor();
});

test("a queue without jobs shows the call that files one in a topic of its own", async () => {
  const page = await openWith({}, (opened) =>
    opened.route(/\/jobs\?/, (route) => route.fulfill({ json: { jobs: [], at: ago(0) } })),
  );
  const call = page.getByRole("region", { name: "File a job" });
  const [first] = await api.topics();
  await call.getByText(`"topic":"${first?.topic}"`).waitFor();
  await call.getByRole("link", { name: "fill in the form" }).click();
  expect(new URL(page.url()).searchParams.get("topic")).toBe(first?.topic);
});

test("jobs that wait for a retry are counted, and their list says how many jobs were looked at", async () => {
  const { retried, waiting } = await playScene(api, "needs");
  const page = await browser.open("/console");
  await page
    .getByRole("link", { name: /of work ha(s|ve) failed and will be retried; the next retry/ })
    .click();
  await page.getByRole("link", { name: /^retrying needs-retried work/ }).waitFor();
  await page.getByText(/: [1-9]\d* retrying, of [1-9]\d* scheduled jobs? that were looked at/).waitFor();
  expect(await page.getByText("needs-waiting").count()).toBe(0);
  await page.getByLabel("State").selectOption("held");
  await page.getByText(/: \d+ held, of [1-9]\d* scheduled jobs? that were looked at/).waitFor();
  expect([retried.topic, waiting.topic]).toEqual(["work", "work"]);
});

test.each([24, -24])(
  "with a clock that is %i h off, the page has the queue's time and says so",
  async (hours) => {
    await api.enqueue("work", {}, { delay: "6m", key: `needs-clock-${hours}` });
    const page = await browser.open("/console/enqueue");
    await page.addInitScript(clockOff(hours * 60 * MINUTE));
    await page.goto(`${url}/console`);
    const side = hours > 0 ? "ahead of" : "behind";
    await page.getByText(`The clock of this machine is 1 d ${side} the queue's.`).waitFor();
    await topicRow(page, "work")
      .getByRole("link", { name: /^[1-9]\d* jobs? due in the next 15 minutes$/ })
      .waitFor();
  },
);

test("an overview that is read no more says so, and nothing on it turns red", async () => {
  const page = await openWith({});
  await page.getByRole("link", { name: "All is calm" }).waitFor();
  await page.unroute(`${url}/topics`);
  await page.route(`${url}/topics`, (route) => route.fulfill({ status: 503, json: {} }));
  await page.getByText(/^This is from .* Since then the topics could not be read/).waitFor();
  await page.getByRole("link", { name: new RegExp(`^No answer since ${TIME} UTC$`) }).waitFor();
  await page.getByText("Nothing. No job is late or dead").waitFor();
  expect(await page.locator(".health.bad, .failure, .dot.bad, main .badge.late").count()).toBe(0);
});
