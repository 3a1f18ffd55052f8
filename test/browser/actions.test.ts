import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { CarriedAction } from "../../console/carried.ts";
import { createClient } from "../../src/client/client.ts";
import { PATIENCE_MS } from "../patience.ts";
import { expectAccessible, expectNoOverflow } from "./accessible.ts";
import { testBrowser } from "./browser.ts";
import { fileAll } from "./file-all.ts";
import { stackUrl } from "./stack-url.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });

const DAY = { from: "2031-01-01T00:00:00Z", to: "2031-01-02T00:00:00Z" };
const AT = "2031-01-01T09:00:00Z";
const RANGE = `from=${DAY.from}&to=${DAY.to}`;

async function countIn(tag: string, state: "cancelled" | "scheduled"): Promise<number> {
  let count = 0;
  for await (const _ of api.list({ tag, state, ...DAY })) count++;
  return count;
}

/** Files so many jobs that a change of all takes several parts, and opens the dialog that cancels them. */
async function openMany(tag: string, jobs: number): Promise<Page> {
  await fileAll(
    api,
    Array.from({ length: jobs }, (_, index) => ({ dueAt: AT, tag, key: `${tag}-${index}` })),
  );
  const page = await browser.open(`/console/jobs?topic=work&tag=${tag}&${RANGE}`);
  await page.getByRole("button", { name: "Cancel all …" }).click();
  return page;
}

/** The action that changes the jobs of a tag, as the server of the console has it. */
async function actionOf(tag: string): Promise<CarriedAction | undefined> {
  const answered = await fetch(`${stackUrl}/console/actions`);
  const { actions } = (await answered.json()) as { actions: CarriedAction[] };
  return actions.find(({ lines }) => lines.some(({ which }) => which.tag === tag));
}

const bar = (page: Page) => page.getByRole("complementary", { name: "Actions in progress" });

describe("an action on many jobs", () => {
  test("goes on when its page is closed, is watched in another tab, and is stopped and continued there", async () => {
    const [tag, jobs] = ["actions-many", 3000];
    const page = await openMany(tag, jobs);
    await page.getByRole("button", { name: `Cancel all: ${jobs.toLocaleString("en")} jobs` }).click();
    await bar(page).getByText("Cancelling").waitFor();
    const url = page.url();
    const other = await page.context().newPage();
    await page.close();
    await other.goto(url.replace(/jobs.*/, "schedules"));
    await bar(other)
      .getByText(/^Cancelling [\d,]+ of 3,000 jobs of work with the tag actions-many/)
      .waitFor();
    await bar(other).getByRole("progressbar").waitFor();
    await bar(other).getByRole("button", { name: "Stop" }).click();
    await bar(other)
      .getByText(/^Cancelled [\d,]+ of 3,000 jobs of .*Stopped$/)
      .waitFor();
    const stopped = await actionOf(tag);
    const changed = stopped?.lines[0]?.changed ?? 0;
    expect(stopped).toMatchObject({ state: "stopped", lines: [{ isDone: false }] });
    expect(changed).toBeGreaterThan(0);
    expect(changed).toBeLessThan(jobs);
    expect(await countIn(tag, "cancelled")).toBe(changed);
    await expectAccessible(other);
    await other.setViewportSize({ width: 360, height: 800 });
    await expectNoOverflow(other);
    await bar(other).getByRole("button", { name: "Go on" }).click();
    // A slow machine needs long for so many jobs.
    await expect.poll(async () => (await actionOf(tag))?.state, { timeout: 4 * PATIENCE_MS }).toBe("done");
    await bar(other).getByText("Cancelled 3,000 jobs of work with the tag actions-many.").waitFor();
    await bar(other)
      .getByRole("listitem")
      .filter({ hasText: "with the tag actions-many" })
      .getByRole("button", { name: "Close this message" })
      .click();
    await bar(other).getByText("with the tag actions-many").waitFor({ state: "hidden" });
    expect(await countIn(tag, "cancelled")).toBe(jobs);
  });

  test("that is refused says so in its dialog, and can be repeated", async () => {
    const page = await openMany("actions-refused", 2);
    await page.route("**/console/actions", (route) =>
      route.request().method() === "POST" ? route.fulfill({ status: 503, body: "" }) : route.continue(),
    );
    const confirm = page.getByRole("button", { name: "Cancel all: 2 jobs" });
    await confirm.click();
    await page.getByRole("alert").getByText("unavailable").waitFor();
    await page.unroute("**/console/actions");
    await confirm.click();
    await bar(page).getByText("Cancelled 2 jobs of work with the tag actions-refused.").waitFor();
  });
});

describe("one plan", () => {
  test("is counted for several topics of one customer, and leaves out what is not chosen", async () => {
    const group = "actions-customer";
    for (const topic of ["work", "reminders", "days"])
      await api.enqueue(topic, {}, { group, dueAt: AT, key: `${group}-${topic}` });
    await api.enqueue("work", {}, { dueAt: AT, key: `${group}-other` });
    const page = await browser.open(`/console/jobs?group=${group}&${RANGE}`);
    await page.getByRole("button", { name: "Cancel all …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("3 jobs of 3 topics with the group actions-customer due from").waitFor();
    await expectAccessible(page);
    await dialog.getByRole("checkbox", { name: "days, group actions-customer" }).uncheck();
    await dialog.getByText("2 jobs of 2 topics with the group actions-customer due from").waitFor();
    await dialog.getByRole("button", { name: "Cancel all: 2 jobs" }).click();
    await bar(page).getByText("Cancelled 2 jobs of 2 topics with the group actions-customer.").waitFor();
    const stateOf = async (topic: string, key: string) => (await api.get({ topic, key })).state;
    expect(await stateOf("work", `${group}-work`)).toBe("cancelled");
    expect(await stateOf("reminders", `${group}-reminders`)).toBe("cancelled");
    expect(await stateOf("days", `${group}-days`)).toBe("scheduled");
    expect(await stateOf("work", `${group}-other`)).toBe("scheduled");
  });

  test("is counted for several tags", async () => {
    for (const tag of ["actions-tag-a", "actions-tag-b", "actions-tag-c"])
      await api.enqueue("work", {}, { tag, dueAt: AT });
    const page = await browser.open(`/console/jobs?topic=work&tag=actions-tag-a&${RANGE}`);
    await page.getByRole("button", { name: "Cancel all …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 job of work with the tag actions-tag-a").waitFor();
    await dialog.getByText("Several tags or groups").click();
    await dialog.getByLabel(/^Tags, one a line/).fill("actions-tag-a\nactions-tag-b\n");
    await page.keyboard.press("Tab");
    await dialog.getByText("2 jobs of work with 2 tags due from").waitFor();
    await dialog.getByRole("button", { name: "Cancel all: 2 jobs" }).click();
    await bar(page).getByText("Cancelled 2 jobs of work with 2 tags.").waitFor();
    expect(await countIn("actions-tag-b", "cancelled")).toBe(1);
    expect(await countIn("actions-tag-c", "scheduled")).toBe(1);
  });
});

test("all jobs are shifted by hours, and stay as far apart as they were", async () => {
  const tag = "actions-shift";
  const jobs = await Promise.all(
    ["09:00", "09:30"].map((time) => api.enqueue("work", {}, { tag, dueAt: `2031-01-01T${time}:00Z` })),
  );
  const page = await browser.open(`/console/jobs?topic=work&tag=${tag}&${RANGE}`);
  await page.getByRole("button", { name: "Shift all …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/^Hours, or a duration/).fill("-1.5");
  await dialog.getByText("1 h 30 min earlier. A job whose new time has passed becomes due at once").waitFor();
  await dialog.getByRole("button", { name: "Shift all: 2 jobs" }).click();
  await bar(page)
    .getByText("Shifted 2 jobs of work with the tag actions-shift, 1 h 30 min earlier.")
    .waitFor();
  const due = await Promise.all(jobs.map(async ({ id }) => (await api.get(id)).dueAt));
  expect(due).toEqual(["2031-01-01T07:30:00.000Z", "2031-01-01T08:00:00.000Z"]);
});

test("a day means the whole day in the chosen zone, also when the clocks change", async () => {
  const page = await browser.open("/console/jobs?topic=work", { timezoneId: "Europe/Berlin" });
  const rangeOf = () => {
    const { searchParams } = new URL(page.url());
    return [searchParams.get("from"), searchParams.get("to")];
  };
  await page.getByLabel("Whole day").fill("2031-03-30");
  await expect.poll(rangeOf).toEqual(["2031-03-29T23:00:00.000Z", "2031-03-30T22:00:00.000Z"]);
  await page.getByText("This range", { exact: true }).click();
  await page.getByLabel("From").fill("3 December 2031");
  await page.getByLabel("Until").fill("4 December 2031");
  await page.keyboard.press("Enter");
  await expect.poll(rangeOf).toEqual(["2031-12-02T23:00:00.000Z", "2031-12-04T23:00:00.000Z"]);
  await page.getByRole("combobox", { name: "Time zone" }).selectOption("UTC");
  await page.getByLabel("Whole day").fill("2031-03-30");
  await expect.poll(rangeOf).toEqual(["2031-03-30T00:00:00.000Z", "2031-03-31T00:00:00.000Z"]);
  await page.getByRole("button", { name: "tomorrow", exact: true }).click();
  await page.locator("[aria-pressed=true]", { hasText: "tomorrow" }).waitFor();
});

test("the actions stay in sight while a long list is scrolled, at each width", async () => {
  const tag = "actions-sight";
  await fileAll(
    api,
    Array.from({ length: 60 }, (_, index) => ({
      ...{ dueAt: "2031-02-01T09:00:00Z", tag },
      key: `${tag}-${index}`,
    })),
  );
  const range = "from=2031-02-01T00:00:00Z&to=2031-02-02T00:00:00Z";
  const page = await browser.open(`/console/jobs?tag=${tag}&${range}`);
  await page.getByText("60 jobs due from").waitFor();
  for (const width of [360, 768, 1440]) {
    await page.setViewportSize({ width, height: 700 });
    await page.evaluate(() => scrollTo(0, 0));
    const button = page.getByRole("button", { name: "Cancel all …" });
    const box = await button.boundingBox();
    expect(box && box.y + box.height).toBeLessThan(700);
    // Nothing covers it.
    await button.click({ trial: true });
    await expectNoOverflow(page);
  }
});

/** Files two jobs and shifts them by an hour with the page. Answers the page, the jobs' ids and the action's message. */
async function shiftTwo(tag: string) {
  const jobs = await Promise.all(
    ["09:00", "09:30"].map((time) => api.enqueue("work", {}, { tag, dueAt: `2031-01-01T${time}:00Z` })),
  );
  const page = await browser.open(`/console/jobs?topic=work&tag=${tag}&${RANGE}`);
  await page.getByRole("button", { name: "Shift all …" }).click();
  await page.getByRole("dialog").getByText("You can shift the jobs back afterwards, except").waitFor();
  await page.getByRole("button", { name: "Shift all: 2 jobs" }).click();
  const message = bar(page)
    .getByRole("listitem")
    .filter({ hasText: `Shifted 2 jobs of work with the tag ${tag}` });
  await message.getByText("1 h later.").waitFor();
  const dueTimes = () => Promise.all(jobs.map(async ({ id }) => (await api.get(id)).dueAt));
  return { page, message, dueTimes, ids: jobs.map(({ id }) => id) };
}

test("the jobs of all topics in two days are counted in one pass, and only those of the range are shifted", async () => {
  const file = (topic: string, dueAt: string) => api.enqueue(topic, {}, { dueAt });
  const jobs = [
    await file("work", "2033-05-02T09:00:00Z"),
    await file("work", "2033-05-02T11:00:00Z"),
    await file("reminders", "2033-05-01T09:00:00Z"),
    await file("work", "2033-05-03T09:00:00Z"),
    await file("reminders", "2033-05-02T10:00:00Z"),
  ];
  const page = await browser.open("/console/jobs?from=2033-05-01T00:00:00Z&to=2033-05-03T00:00:00Z", {
    timezoneId: "UTC",
  });
  const counts: string[] = [];
  page.on("request", (request) => {
    if (/\/(?:jobs\/bulk|forecast)/.test(request.url())) counts.push(new URL(request.url()).pathname);
  });
  await page.getByRole("button", { name: "Shift all …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog
    .getByText(
      /^4 jobs of 2 topics due from 1 May 2033, 00:00:00 UTC until 3 May 2033, 00:00:00 UTC become due/,
    )
    .waitFor();
  expect(new Set(counts)).toEqual(new Set(["/forecast"]));
  await dialog.getByRole("button", { name: "Shift all: 4 jobs" }).click();
  await bar(page).getByText("Shifted 4 jobs of 2 topics, 1 h later.").waitFor();
  const hours = () => Promise.all(jobs.map(async ({ id }) => (await api.get(id)).dueAt.slice(8, 13)));
  expect(await hours()).toEqual(["02T10", "02T12", "01T10", "03T09", "02T11"]);
  await bar(page).getByRole("button", { name: "Shift back …" }).click();
  await dialog.getByRole("button", { name: /^Shift back.*: 4 jobs$/ }).click();
  await bar(page).getByText("Shifted 4 jobs of 2 topics, 1 h earlier.").waitFor();
  expect(await hours()).toEqual(["02T09", "02T11", "01T09", "03T09", "02T10"]);
});

test("the jobs of a tag in seven days are counted by lists of all topics, and not topic by topic", async () => {
  const tag = "actions-week";
  const file = (topic: string, dueAt: string, more = {}) => api.enqueue(topic, {}, { dueAt, ...more });
  const jobs = [
    await file("work", "2034-05-01T09:00:00Z", { tag }),
    await file("reminders", "2034-05-07T23:59:59Z", { tag }),
    await file("work", "2034-05-02T09:00:00Z"),
    await file("work", "2034-05-08T00:00:00Z", { tag }),
  ];
  await api.cancel((await file("work", "2034-05-03T09:00:00Z", { tag })).id);
  const page = await browser.open(
    `/console/jobs?tag=${tag}&from=2034-05-01T00:00:00Z&to=2034-05-08T00:00:00Z`,
  );
  await page.getByText("jobs due from").waitFor();
  const asked: string[] = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (/^\/(?:jobs|forecast)/.test(pathname)) asked.push(`${pathname} of ${searchParams.get("topic")}`);
  });
  await page.getByRole("button", { name: "Cancel all …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(`2 jobs of 2 topics with the tag ${tag} due from`).waitFor();
  expect(new Set(asked)).toEqual(new Set(["/jobs of null"]));
  await dialog.getByRole("button", { name: "Cancel all: 2 jobs" }).click();
  await bar(page).getByText(`Cancelled 2 jobs of 2 topics with the tag ${tag}.`).waitFor();
  const states = await Promise.all(jobs.map(async ({ id }) => (await api.get(id)).state));
  expect(states).toEqual(["cancelled", "cancelled", "scheduled", "scheduled"]);
});

describe("the message of an action that is done", () => {
  test("leads to the shifted jobs, and shifts them back after it has counted them again", async () => {
    const tag = "actions-back";
    const { page, message, dueTimes } = await shiftTwo(tag);
    await message.getByRole("link", { name: "Show them" }).click();
    await expect
      .poll(() => Object.fromEntries(new URL(page.url()).searchParams))
      .toEqual({ topic: "work", tag, from: "2031-01-01T10:00:00.000Z", to: "2031-01-01T10:30:00.001Z" });
    await page.getByText("2 jobs due from").waitFor();
    await message.getByRole("button", { name: "Shift back …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("2 jobs of work with the tag actions-back become due 1 h earlier, as").waitFor();
    await dialog.getByText("The action has shifted 2 jobs. Jobs that it did not shift stay").waitFor();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Shift back: 2 jobs" }).click();
    await bar(page).getByText("Shifted 2 jobs of work with the tag actions-back, 1 h earlier.").waitFor();
    expect(await dueTimes()).toEqual(["2031-01-01T09:00:00.000Z", "2031-01-01T09:30:00.000Z"]);
  });

  test("shifts back only what it has shifted: no job that was there before, and none that was moved since", async () => {
    const tag = "actions-back-others";
    const { page, message, ids, dueTimes } = await shiftTwo(tag);
    const others = await Promise.all(
      ["20:00", "21:00"].map((time) => api.enqueue("work", {}, { tag, dueAt: `2031-01-01T${time}:00Z` })),
    );
    const noon = "2031-01-01T12:00:00.000Z";
    await api.reschedule(others[1]?.id ?? "", { dueAt: noon });
    await api.reschedule(ids[1] ?? "", { dueAt: noon });
    await message.getByRole("button", { name: "Shift back …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("The action has shifted 2 jobs. 1 job of these cannot be shifted back").waitFor();
    await dialog.getByRole("button", { name: "Shift back: 1 job" }).click();
    await bar(page).getByText(`Shifted 1 job of work with the tag ${tag}, 1 h earlier.`).waitFor();
    expect(await dueTimes()).toEqual(["2031-01-01T09:00:00.000Z", noon]);
    const dueOf = async ({ id }: { id: string }) => (await api.get(id)).dueAt;
    expect(await Promise.all(others.map(dueOf))).toEqual(["2031-01-01T20:00:00.000Z", noon]);
  });

  test("reads a week of several topics by lists of all topics, and says how much of it is read", async () => {
    const tag = "actions-back-week";
    const jobs = await Promise.all([
      api.enqueue("work", {}, { tag, dueAt: "2035-05-01T09:00:00Z" }),
      api.enqueue("reminders", {}, { tag, dueAt: "2035-05-07T09:00:00Z" }),
    ]);
    const page = await browser.open(
      `/console/jobs?tag=${tag}&from=2035-05-01T00:00:00Z&to=2035-05-08T00:00:00Z`,
    );
    await page.getByRole("button", { name: "Shift all …" }).click();
    await page.getByRole("button", { name: "Shift all: 2 jobs" }).click();
    const message = bar(page)
      .getByRole("listitem")
      .filter({ hasText: `with the tag ${tag}, 1 h later.` });
    await message.waitFor();
    // The list would read its jobs again.
    await page.goto(`${stackUrl}/console/last-actions`);
    const topics = new Set<string | null>();
    const { promise, resolve: goOn } = Promise.withResolvers<void>();
    await page.route(/\/jobs\?/, async (route) => {
      const { searchParams } = new URL(route.request().url());
      topics.add(searchParams.get("topic"));
      // The end of the range is that of the last job.
      if (searchParams.get("to")?.startsWith("2035-05-07T10:00")) await promise;
      await route.continue();
    });
    const line = page.getByRole("main").getByRole("listitem").filter({ hasText: tag });
    await line.getByRole("button", { name: "Shift back …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/1 job so far, 8\d % of the range read …$/).waitFor();
    goOn();
    await dialog.getByRole("button", { name: "Shift back: 2 jobs" }).click();
    await page.getByRole("main").getByText(`with the tag ${tag}, 1 h earlier.`).waitFor();
    expect(topics).toEqual(new Set([null]));
    const due = await Promise.all(jobs.map(async ({ id }) => (await api.get(id)).dueAt));
    expect(due).toEqual(["2035-05-01T09:00:00.000Z", "2035-05-07T09:00:00.000Z"]);
  });

  test("leads to the cancelled jobs, and its dialog has said that nothing undoes it", async () => {
    const tag = "actions-gone";
    const page = await openMany(tag, 2);
    await page.getByRole("dialog").getByText("This cannot be undone: a cancelled job cannot").waitFor();
    await page.getByRole("button", { name: "Cancel all: 2 jobs" }).click();
    const message = bar(page)
      .getByRole("listitem")
      .filter({ hasText: `with the tag ${tag}` });
    await message.getByRole("link", { name: "Show them" }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("state")).toBe("cancelled");
    await page.getByText(/^2 jobs due from .*: 2 cancelled/).waitFor();
    expect(await message.getByRole("button", { name: "Shift back …" }).count()).toBe(0);
  });

  test("is found again among the last actions, from the list and the palette", async () => {
    const { page, message } = await shiftTwo("actions-last");
    await message.getByRole("button", { name: "Close this message" }).click();
    await page.getByRole("link", { name: "Last actions" }).click();
    await page.getByRole("heading", { name: "Actions on many jobs" }).waitFor();
    const main = page.getByRole("main");
    const line = main.getByRole("listitem").filter({ hasText: "with the tag actions-last, 1 h later." });
    await expectAccessible(page);
    await line.getByRole("button", { name: "Shift back …" }).click();
    await page.getByRole("button", { name: "Shift back: 2 jobs" }).click();
    await main.getByText("with the tag actions-last, 1 h earlier.").waitFor();
    await line.getByText("Shifted back since").waitFor();
    expect(await line.getByRole("button", { name: "Shift back …" }).count()).toBe(0);
    await page.keyboard.press("g");
    await page.keyboard.press("o");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("last actions");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Actions on many jobs" }).waitFor();
  });
});

/** An action that has left five jobs, and one that is being stopped. */
function actionsWithLeft(id: string, detail: string): CarriedAction[] {
  const left = [{ id, code: "job-already-exists", detail: `job ${id} is still dead: ${detail}` }];
  const line = {
    which: { topic: "work", ...DAY, jobs: [] },
    counted: 76,
    changed: 71,
    key: "key",
    isDone: true,
  };
  const redriven = { ...line, left, skipped: { "job-already-exists": 1 } };
  const cancelled = {
    ...line,
    which: { topic: "work", ...DAY },
    counted: 3000,
    left: [],
    skipped: {},
    isDone: false,
  };
  const ages = { startedAgo: 1000, endedAgo: 0 };
  return [
    { ...ages, id: "a", state: "done", change: { action: "redrive" }, lines: [redriven] },
    { ...ages, id: "b", state: "stopping", change: { action: "cancel" }, lines: [cancelled] },
  ];
}

test("the jobs that an action has left are shown with the reason of each, and a stop says how many jobs still change", async () => {
  const id = "01KJMA0SCG008DS270HCQCKA01";
  const detail = 'its key "order-17" names another job by now';
  const actions = actionsWithLeft(id, detail);
  const page = await browser.open("/console/schedules");
  await page.route("**/console/actions", (route) => route.fulfill({ json: { actions } }));
  const shown = bar(page).getByRole("listitem");
  const done = shown.filter({ hasText: "Redriven 71 of 76 jobs of work." }).first();
  await done
    .getByText("1 was left: 1 job-already-exists. 4 jobs had been redriven or dismissed before.")
    .waitFor();
  await done.getByText("Show the 5 that were left").press("Enter");
  await done.getByText(`${id} is still dead: ${detail}`).waitFor();
  await expectAccessible(page);
  await done.getByRole("link", { name: "The jobs that are dead now" }).waitFor();
  await shown.getByText("Stopping after the present 500 jobs …").waitFor();
  await done.getByRole("link", { name: id }).click();
  expect(new URL(page.url()).pathname).toBe(`/console/jobs/${id}`);
});

test("on a phone, only one action stands in full, and the others are counted", async () => {
  const actions = actionsWithLeft("01KJMA0SCG008DS270HCQCKA01", "");
  const page = await browser.open("/console/schedules", { viewport: { width: 390, height: 844 } });
  await page.route("**/console/actions", (route) => route.fulfill({ json: { actions } }));
  const others = bar(page).getByRole("link", { name: "1 other action" });
  await others.waitFor();
  await bar(page).getByText("Stopping after the present 500 jobs …").waitFor();
  expect(await bar(page).getByText("Redriven 71 of 76 jobs of work.").count()).toBe(0);
  expect((await others.boundingBox())?.height).toBeGreaterThanOrEqual(24);
  await page.setViewportSize({ width: 360, height: 800 });
  await expectNoOverflow(page);
  await expectAccessible(page);
  await others.click();
  await page.getByRole("main").getByText("Redriven 71 of 76 jobs of work.").waitFor();
});

test("an action whose server does not answer is not called in progress, and one whose server was started again says to look at the jobs", async () => {
  const [, running] = actionsWithLeft("", "");
  let answer: readonly unknown[] | undefined = [{ ...running, state: "running" }];
  const page = await browser.open("/console/schedules", { ignoresFailedCalls: true });
  await page.route("**/console/actions", (route) =>
    answer ? route.fulfill({ json: { actions: answer } }) : route.abort(),
  );
  await bar(page).getByText("Cancelling 71 of 3,000 jobs of work", { exact: true }).waitFor();
  await button(page, "Stop").waitFor();
  answer = undefined;
  const known = "Cancelled 71 of 3,000 jobs of work.";
  await bar(page)
    .getByText(`${known} The server of this console does not answer, so the action may have stopped`)
    .waitFor();
  expect(await button(page, "Stop").count()).toBe(0);
  answer = [];
  const lost = bar(page)
    .getByRole("listitem")
    .filter({ hasText: `${known} The server of this console was started again during this action` });
  await lost.waitFor();
  await expectAccessible(page);
  expect(await lost.getByRole("button").count()).toBe(1);
  await lost.getByRole("link", { name: "All jobs of the range now" }).click();
  expect(new URL(page.url()).searchParams.get("topic")).toBe("work");
  await lost.getByRole("button", { name: "Close this message" }).click();
  await lost.waitFor({ state: "hidden" });
});

test.each(["Escape", "Back"])("a count ends when its dialog is left by %s", async (way) => {
  const tag = `actions-count-${way}`;
  await api.enqueue("work", {}, { tag, dueAt: AT });
  const page = await browser.open("/console/schedules");
  await page.getByRole("heading", { name: "Schedules" }).waitFor();
  // A link of the page itself, so that Back does not load the page anew.
  await page.evaluate((href) => {
    const link = document.body.appendChild(Object.assign(document.createElement("a"), { href }));
    link.click();
  }, `/console/jobs?topic=work&tag=${tag}&${RANGE}`);
  let calls = 0;
  // Each part has a further one, so a count that goes on never ends.
  await page.route("**/jobs/bulk*", async (route) => {
    calls++;
    const part = { ...{ examined: 1, matched: 1, changed: 0, skipped: {}, errors: [] }, ...DAY };
    await route.fulfill({ json: { ...part, reached: AT, cursor: String(calls) } });
  });
  await page.getByRole("button", { name: "Cancel all …" }).click();
  await page.getByRole("dialog").getByText("Counting the jobs").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel all", exact: true }).waitFor();
  if (way === "Back") await page.goBack();
  else await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  const before = calls;
  await page.waitForTimeout(1000);
  expect(calls).toBeLessThanOrEqual(before + 1);
});

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });

describe("the message of a change of one job", () => {
  const file = (key: string) =>
    api.enqueue(
      "work",
      { orderId: 17 },
      { key: `actions-${key}`, dueAt: "2031-03-01T09:00:00Z", tag: "own" },
    );

  test("moves a job back to its former time, also after Run now", async () => {
    const job = await file("put-back");
    const page = await browser.open(`/console/jobs/${job.id}`, { timezoneId: "UTC" });
    await button(page, "Reschedule …").click();
    await page.getByLabel("New time").fill("2031-03-02T09:00:00Z");
    await button(page, "Reschedule the job").click();
    await button(page, "Move back to 1 Mar 2031, 09:00:00 UTC …").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("again, instead of").waitFor();
    await expectAccessible(page);
    await button(page, "Move the job back").click();
    await page.getByText("actions-put-back is due at 1 Mar 2031, 09:00:00 UTC again.").waitFor();
    await button(page, "Run now …").click();
    await button(page, "Run the job now").click();
    await button(page, "Postpone back to 1 Mar 2031, 09:00:00 UTC …").click();
    await button(page, "Move the job back").click();
    await expect.poll(async () => (await api.get(job.id)).dueAt).toBe("2031-03-01T09:00:00.000Z");
  });

  test("puts a former body back, and not over a body that somebody else has written meanwhile", async () => {
    const job = await file("former-body");
    const page = await browser.open(`/console/jobs/${job.id}`);
    await button(page, "Change the body …").click();
    await page.getByLabel("Body (JSON)").fill('{"orderId": 18}');
    await button(page, "Change the body").click();
    await button(page, "Put the former body back …").click();
    await api.reschedule(job.id, { body: { orderId: 19 } });
    const confirm = button(page, "Put the former body back");
    await confirm.click();
    await page.getByRole("alert").getByText("changed-meanwhile").waitFor();
    await button(page, "Use the present job").click();
    await page.getByRole("alert").waitFor({ state: "hidden" });
    await confirm.click();
    await page.getByText("actions-former-body has its former body again.").waitFor();
    expect((await api.get(job.id)).body).toEqual({ orderId: 17 });
  });

  test("says that a cancel cannot be undone, and leads to a form with a copy of the job", async () => {
    const job = await file("copied");
    const page = await browser.open(`/console/jobs/${job.id}`);
    await button(page, "Cancel …").click();
    await page.getByRole("dialog").getByText("This cannot be undone: a cancelled job").waitFor();
    await button(page, "Cancel the job").click();
    await page.getByRole("link", { name: "Enqueue a copy of it" }).click();
    await page.getByText("This is a copy of actions-copied.").waitFor();
    await button(page, "Enqueue the job").click();
    await page.getByText(/^Filed: /).waitFor();
    const copy = await api.get({ topic: "work", key: "actions-copied" });
    const { body, tag, dueAt, maxAttempts } = await api.get(job.id);
    expect(copy).toMatchObject({ state: "scheduled", body, tag, dueAt, maxAttempts });
  });

  test("shows what has changed since the dialog was opened, who did it and when, and repeats on the present job", async () => {
    const job = await file("side-by-side");
    const page = await browser.open(`/console/jobs/${job.id}`, { timezoneId: "UTC" });
    await button(page, "Cancel …").click();
    const moved = { dueAt: "2031-03-01T10:30:00Z", body: { orderId: 18 }, reason: "the van is late" };
    await api.reschedule(job.id, moved);
    await button(page, "Cancel the job").click();
    const alert = page.getByRole("alert").filter({ hasText: "This job has changed" });
    await alert.getByText(/^moved .* by a caller: the van is late$/).waitFor();
    const cells = alert.getByRole("row").filter({ hasText: "due" }).getByRole("cell");
    expect(await cells.allInnerTexts()).toEqual([
      expect.stringContaining("1 Mar 2031, 09:00:00 UTC"),
      expect.stringContaining("1 Mar 2031, 10:30:00 UTC"),
    ]);
    expect(await alert.getByLabel("Text of the earlier body").textContent()).toContain("17");
    expect(await alert.getByLabel("Text of the present body").textContent()).toContain("18");
    await expectAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await expectNoOverflow(page);
    await button(page, "Use the present job").click();
    await page.getByRole("alert").waitFor({ state: "hidden" });
    await button(page, "Cancel the job").click();
    await page.getByText("Cancelled actions-side-by-side. It will not run.").waitFor();
  });
});

test("a pause is undone by its message, and a dialog of a topic that somebody else has resumed stays", async () => {
  const page = await browser.open("/console/topics/precise");
  await button(page, "Pause precise …").click();
  await button(page, "Pause the topic").click();
  await button(page, "Resume …").click();
  await page.getByRole("dialog", { name: "Resume precise?" }).waitFor();
  await api.resume("precise");
  // The page has read by now that the topic is not paused.
  await page.getByRole("main").getByText("paused", { exact: true }).waitFor({ state: "hidden" });
  await button(page, "Resume the topic").click();
  await page.getByText(/^Resumed precise/).waitFor();
});
