import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { testBrowser } from "./browser.ts";
import { fileAll } from "./file-all.ts";
import { giveReason } from "./give-reason.ts";
import { stackUrl } from "./stack-url.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });

test("jobs are selected by topic, tag and range, and the address names the selection", async () => {
  const at = "2030-05-01T09:00:00Z";
  await api.enqueue("work", {}, { dueAt: at, key: "jobs-may", tag: "jobs-may-tag" });
  await api.enqueue("work", {}, { dueAt: at, key: "jobs-other" });
  const page = await browser.open("/console/jobs");
  await page.getByRole("combobox", { name: "Topic" }).selectOption("work");
  await page.getByText("Another range").click();
  await page.getByLabel("From").fill("2030-05-01T00:00:00Z");
  await page.getByLabel("Until").fill("2030-05-02T00:00:00Z");
  await page.keyboard.press("Enter");
  await page.getByText("jobs-other").waitFor();
  await page.getByRole("textbox", { name: "Tag" }).fill("jobs-may-tag");
  await page.keyboard.press("Tab");
  await page.getByText("jobs-other").waitFor({ state: "hidden" });
  await page.getByText("jobs-may", { exact: true }).waitFor();
  const colleague = await browser.open(page.url().replace(stackUrl, ""));
  await colleague.getByText(/^1 job due from 1 May 2030, .* until 2 May 2030, .*: 1 scheduled\.$/).waitFor();
});

test("a list is read on while it is scrolled, and draws only the lines in sight", async () => {
  const day = Date.parse("2030-06-01T00:00:00Z");
  const jobs = Array.from({ length: 500 }, (_, index) => ({
    key: `jobs-many-${index}`,
    dueAt: new Date(day + index * 1000),
  }));
  await fileAll(api, jobs);
  const page = await browser.open(
    "/console/jobs?topic=work&from=2030-06-01T00:00:00Z&to=2030-06-01T12:00:00Z",
  );
  // The first page has 200 jobs, or fewer if the API needs too long for them.
  await page.getByText(/^[1-4]?\d?\d jobs due from .*: \d+ scheduled, from \d pages?/).waitFor();
  const list = page.getByRole("region", { name: "Jobs", exact: true });
  await expect
    .poll(async () => {
      await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      return page.getByText("jobs-many-499", { exact: true }).count();
    })
    .toBe(1);
  await page.getByText(/^500 jobs due from .*: 500 scheduled/).waitFor();
  expect(await list.getByRole("listitem").count()).toBeLessThan(60);
});

test("all jobs of a selection are moved and cancelled, after they have been counted", async () => {
  const file = (key: string) =>
    api.enqueue("work", {}, { dueAt: "2030-07-01T09:00:00Z", key: `jobs-bulk-${key}`, tag: "jobs-bulk" });
  const jobs = await Promise.all(["a", "b", "c"].map(file));
  const range = "from=2030-07-01T08:00:00Z&to=2030-07-01T10:00:00Z";
  const page = await browser.open(`/console/jobs?topic=work&tag=jobs-bulk&${range}`);
  await page.getByRole("button", { name: "Move all …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("3 jobs").first().waitFor();
  await dialog.getByLabel("New time").fill("2030-07-01T09:30:00Z");
  await dialog.getByText("All jobs move to the same moment.").waitFor();
  await dialog.getByRole("button", { name: "Move all: 3 jobs" }).click();
  await page.getByText("Moved 3 jobs of work with the tag jobs-bulk.").waitFor();
  expect((await api.get(jobs[0]?.id ?? "")).dueAt).toBe("2030-07-01T09:30:00.000Z");
  await page.getByRole("button", { name: "Cancel all …" }).click();
  await dialog.getByText("Cancel all waiting jobs of work with the tag jobs-bulk?").waitFor();
  await giveReason(page, "the sale is over");
  await dialog.getByRole("button", { name: "Cancel all: 3 jobs" }).click();
  await page.getByText("Cancelled 3 jobs of work with the tag jobs-bulk.").waitFor();
  await expect.poll(async () => (await api.get(jobs[2]?.id ?? "")).state).toBe("cancelled");
  const { timeline } = await api.get(jobs[2]?.id ?? "");
  expect(timeline.map(({ event, by }) => [event, by])).toEqual([
    ["filed", undefined],
    ["moved", { kind: "bulk" }],
    ["cancelled", { kind: "bulk", reason: "the sale is over" }],
  ]);
  await page.getByText(/^3 jobs due from .*: 3 cancelled\.$/).waitFor();
});

test("without a range, a bulk changes the jobs of the list and not those that were due before", async () => {
  const tag = "jobs-same-range";
  await api.enqueue("days", {}, { tag, delay: "2h", key: `${tag}-later` });
  await api.enqueue("days", {}, { tag, delay: "30m", key: `${tag}-next` });
  const opened = Date.now();
  const page = await browser.open(`/console/jobs?topic=days&tag=${tag}`);
  await page.getByText("1 job due in the next hour: 1 scheduled.").waitFor();
  await page.getByRole("button", { name: "Cancel all …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog
    .getByText(/^1 job of days with the tag jobs-same-range due from .* until .* will not run/)
    .waitFor();
  const [from = 0, to = 0] = await dialog
    .locator("time")
    .evaluateAll((times) => times.map((time) => Date.parse(time.getAttribute("datetime") ?? "")));
  expect(from).toBeGreaterThanOrEqual(opened);
  expect(from).toBeLessThanOrEqual(Date.now());
  expect(to - from).toBe(3_600_000);
});

test("a line that is cut says its whole text to a pointer", async () => {
  const tag = "jobs-cut".padEnd(120, "-");
  await api.enqueue("work", {}, { tag, delay: "20m", key: "jobs-cut" });
  const page = await browser.open(`/console/jobs?tag=${tag}`);
  const line = page.getByRole("link", { name: /jobs-cut work/ });
  await line.getByTitle(`tag ${tag}`).waitFor();
  await line.getByTitle("jobs-cut", { exact: true }).waitFor();
});

test("a filter is applied while it is typed, and the first click after it is not lost", async () => {
  const tag = "jobs-typed";
  await api.enqueue("work", {}, { tag, delay: "30m", key: `${tag}-1` });
  await api.enqueue("work", {}, { delay: "30m", key: `${tag}-other` });
  const page = await browser.open("/console/jobs?topic=work");
  await page.getByText(`${tag}-other`).waitFor();
  // The jobs of a tag are read only when the test says so.
  const wanted = Promise.withResolvers<void>();
  await page.route(`**/jobs?*tag=${tag}*`, async (route) => {
    await wanted.promise;
    await route.continue();
  });
  await page.getByRole("textbox", { name: "Tag" }).fill(tag);
  await page.getByRole("button", { name: "Cancel all …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(`Cancel all waiting jobs of work with the tag ${tag}?`).waitFor();
  await page.locator(".dimmed").getByText(`${tag}-other`).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  wanted.resolve();
  await page.getByText("1 job due in the next hour: 1 scheduled.").waitFor();
  const field = page.getByRole("textbox", { name: "Group (exact)" });
  await field.fill("jobs-no-group");
  await page.getByText("No job due in the next hour matches.").waitFor();
  await page.getByText("A tag or a group must be written in full.").waitFor();
  expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
});

test("the range that is shown is marked and written", async () => {
  const page = await browser.open("/console/jobs?topic=work");
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const pressed = () => page.locator("[aria-pressed=true]").allTextContents();
  await expect.poll(pressed).toEqual(["next hour"]);
  await button("last day").click();
  await expect.poll(pressed).toEqual(["last day"]);
  await page
    .getByText(/jobs? due from .* until /)
    .first()
    .waitFor();
  await button("next hour").click();
  await page
    .getByText(/jobs? due in the next hour/)
    .first()
    .waitFor();
  expect(new URL(page.url()).search).toBe("?topic=work");
});

test("a state of jobs that have run looks back, and its range goes with it", async () => {
  const page = await browser.open("/console/jobs?topic=work");
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const state = page.getByRole("combobox", { name: "State" });
  for (const past of ["running", "done", "dead", "expired", "handed-off"]) {
    await state.selectOption(past);
    await page.locator("[aria-pressed=true]", { hasText: "last day" }).waitFor();
  }
  await state.selectOption("scheduled");
  await page.locator("[aria-pressed=true]", { hasText: "next hour" }).waitFor();
  // A range that a person has chosen stays.
  await button("next day").click();
  await state.selectOption("dead");
  await expect.poll(() => new URL(page.url()).searchParams.get("state")).toBe("dead");
  await page.locator("[aria-pressed=true]", { hasText: "next day" }).waitFor();
});

test("in a narrow window the filters are one line that names them, until they are wanted", async () => {
  const page = await browser.open("/console/jobs?topic=work&state=dead", {
    viewport: { width: 360, height: 800 },
  });
  const topic = page.getByRole("combobox", { name: "Topic" });
  await page.getByText("Filters: work, dead").click();
  await topic.selectOption("reminders");
  await page.getByText("Filters: reminders, dead").click();
  expect(await topic.isVisible()).toBe(false);
});

test("a search with one hit opens the job, and its tag leads to the other jobs", async () => {
  const tag = "labelled-17";
  const options = { tag, delay: "50m" } as const;
  await api.enqueue("work", {}, { ...options, key: tag });
  await api.enqueue("reminders", {}, { ...options, delay: "3h", key: `${tag}-remind` });
  const page = await browser.open("/console");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("combobox", { name: /^Search/ }).fill(tag);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: tag }).waitFor();
  await page.locator("dl.facts").getByRole("link", { name: tag, exact: true }).click();
  await page.getByText(`${tag}-remind`).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: tag }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
});

test("a search with several hits lists them, and the other jobs that have this text", async () => {
  const key = "two-topics-17";
  await api.enqueue("work", {}, { key, delay: "50m" });
  await api.enqueue("reminders", {}, { key, delay: "55m" });
  await api.enqueue("work", {}, { key: `${key}-tagged`, tag: key, delay: "50m" });
  const page = await browser.open(`/console/jobs?find=${key}`);
  await page.getByText(`2 jobs have the key ${key}.`).waitFor();
  // The job that is due next comes first, and the list is as high as its lines.
  await expect
    .poll(() => page.getByLabel("Jobs found").locator(".job-topic").allTextContents())
    .toEqual(["work", "reminders"]);
  expect((await page.getByRole("region", { name: "Jobs found" }).boundingBox())?.height).toBeLessThan(200);
  await page
    .getByRole("region", { name: `Jobs with the words of ${key}` })
    .getByText(`${key}-tagged`)
    .waitFor();
});

/** When an action on many jobs ends, also one of another test, a page reads everything again. */
const ignoreOtherActions = (page: Page) =>
  page.route("**/console/actions", (route) => route.fulfill({ json: { actions: [] } }));

test("a search asks only for what can exist, and not again if it found nothing", async () => {
  const page = await browser.open("/console");
  await ignoreOtherActions(page);
  await page.goto(`${stackUrl}/console/jobs`);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const search = async (text: string) => {
    await page.getByRole("button", { name: /^Search, or go to/ }).click();
    // At once: the first word alone can be a key.
    await page.keyboard.insertText(text);
    await page.keyboard.press("Enter");
    await page.getByText(`No job has the id or the key ${text}.`).waitFor();
    const first = asked.splice(0).filter((path) => path.includes("/jobs/"));
    // Other lists are read every three to five seconds.
    await page.waitForTimeout(6000);
    expect(asked.filter((path) => path.includes("/jobs/"))).toEqual([]);
    return first;
  };
  // A key has no space.
  expect(await search("absent 1700")).toEqual([]);
  expect(await search("absent-1700")).not.toEqual([]);
});

test("a job that does not exist is not asked for again and again", async () => {
  const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  const page = await browser.open("/console");
  await ignoreOtherActions(page);
  let count = 0;
  page.on("request", (request) => {
    if (new URL(request.url()).pathname === `/jobs/${id}`) count += 1;
  });
  await page.goto(`${stackUrl}/console/jobs/${id}`);
  await page.getByText("Cannot read the job").waitFor();
  await page.waitForTimeout(7000);
  expect(count).toBe(1);
});

/** The parts of a line that begin less than 8 px after the end of the part before, on the same line of text. */
function touching(line: Locator): Promise<string[]> {
  return line.locator("> *").evaluateAll((cells) => {
    const boxes = cells.map((cell) => ({ name: cell.className, box: cell.getBoundingClientRect() }));
    return boxes.flatMap(({ name, box }, index) => {
      const before = boxes[index - 1]?.box;
      const isBeside = before !== undefined && box.top < before.bottom && box.width > 0;
      return isBeside && box.left < before.right + 8 ? [name] : [];
    });
  });
}

test("at each width, no column of a line runs into the next one, and no name is cut", async () => {
  const tag = "jobs-widths";
  await api.enqueue("work", {}, { tag, dueAt: "2030-10-01T09:00:00Z" });
  const page = await browser.open(
    `/console/jobs?tag=${tag}&from=2030-10-01T00:00:00Z&to=2030-10-02T00:00:00Z`,
    { timezoneId: "Asia/Kathmandu" },
  );
  const line = page.locator(".job-line");
  await line.waitFor();
  for (const width of [360, 768, 900, 1000, 1060, 1150, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await line
      .locator(".job-time, .job-name")
      .evaluateAll((cells) =>
        cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.className),
      );
    expect([width, ...wide]).toEqual([width]);
    expect([width, ...(await touching(line))]).toEqual([width]);
  }
});

test("on a phone a line shows the error of its job over several lines", async () => {
  const lastError =
    "HTTP 503 from https://shop.example/orders: the order cannot be closed, because the payment is pending";
  const page = await browser.open("/console/enqueue", { viewport: { width: 390, height: 844 } });
  const at = new Date().toISOString();
  const job = { id: "01KJMA0SCG008DS270HCQCKA01", topic: "work", state: "dead", dueAt: at, createdAt: at };
  const jobs = [{ ...job, revision: 1, attempt: 3, maxAttempts: 3, lastError }];
  await page.route(/\/jobs\?/, (route) => route.fulfill({ json: { jobs, at } }));
  await page.goto(`${stackUrl}/console/jobs?topic=work`);
  const text = page.getByText(lastError);
  await text.waitFor();
  const isCut = await text.evaluate(
    (one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight,
  );
  expect(isCut).toBe(false);
});

test("after an action, the list says that it is being read again", async () => {
  const tag = "jobs-again";
  await api.enqueue("work", {}, { tag, delay: "30m" });
  const page = await browser.open(`/console/jobs?topic=work&tag=${tag}`);
  await page.getByText("1 job due in the next hour: 1 scheduled.").waitFor();
  await page.getByRole("button", { name: "Cancel all …" }).click();
  await page.getByRole("button", { name: "Cancel all: 1 job" }).waitFor();
  const wanted = Promise.withResolvers<void>();
  await page.route("**/jobs?*", async (route) => {
    await wanted.promise;
    await route.continue();
  });
  await page.getByRole("button", { name: "Cancel all: 1 job" }).click();
  await page.getByText("1 job due in the next hour: 1 scheduled. Reading again …").waitFor();
  await page.locator(".dimmed").getByText(tag).waitFor();
  wanted.resolve();
  await page.getByText("1 job due in the next hour: 1 cancelled.").waitFor();
});
