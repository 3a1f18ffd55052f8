import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { testBrowser } from "./browser.ts";
import { giveReason } from "./give-reason.ts";
import { stackUrl } from "./stack-url.ts";
import { TIME } from "./time-text.ts";
import { openTopicMenu, topicRow } from "./topic-row.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });

test("the overview counts the jobs that are due next, and leads to them", async () => {
  await api.enqueue("work", { orderId: 17 }, { delay: "5m", key: "overview-17" });
  const page = await browser.open("/console");
  const row = topicRow(page, "work");
  // Other tests may have jobs there too.
  await row.getByRole("link", { name: /^[1-9]\d* jobs? due in the next 15 minutes$/ }).waitFor();
  await row.getByText(/^≤ [1-9]\d*\/min$/).waitFor();
  await row.getByRole("link", { name: "work", exact: true }).click();
  await page.getByRole("heading", { name: "work", exact: true }).waitFor();
  await page.getByRole("link", { name: "Its jobs" }).click();
  await page.getByText("overview-17").waitFor();
  expect(new URL(page.url()).pathname).toBe("/console/jobs");
});

test("in a narrow window each topic is a card with all of its numbers", async () => {
  const page = await browser.open("/console", { viewport: { width: 390, height: 844 } });
  const card = page.getByRole("listitem", { name: "work" });
  for (const word of [
    "ready",
    "delayed",
    "in flight",
    "held",
    "retrying",
    "dead",
    "late p50 / p99, last hour",
  ])
    await card.getByRole("button", { name: word }).waitFor();
  await card.getByRole("link", { name: /^\d+ jobs? due in the next 15 minutes$/ }).waitFor();
  expect(await page.getByRole("table").count()).toBe(0);
  expect((await card.boundingBox())?.height).toBeLessThan(250);
});

test("no value beside the lines of the last hours is cut, and both p99s say of which time they are", async () => {
  // A card of a topic that started no job has no lines.
  await api.enqueue("reminders", {}, { delay: 0 });
  const page = await browser.open("/console");
  for (const [width, texts] of [
    [1440, ["late p50 / p99, last hour", "Last 3 hours; values of 10 min"]],
    [1280, ["late p50 / p99, last hour", "late p99 of 10 min"]],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    for (const text of texts) await page.getByText(text).filter({ visible: true }).first().waitFor();
    const cut = await page
      .locator(".spark-value")
      .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
    expect(cut).toBe(0);
  }
});

test.each([
  ["a click", {}],
  ["a finger", { viewport: { width: 390, height: 844 }, hasTouch: true }],
])("%s on a word explains it", async (_, options) => {
  const page = await browser.open("/console", options);
  const text = "Messages that the consumer has received and not yet finished.";
  const word = page.getByRole("button", { name: "in flight" }).first();
  const explained = page.locator(".popover:popover-open");
  await ("hasTouch" in options ? word.tap() : word.click());
  await explained.getByText(text).waitFor();
  await page.keyboard.press("Escape");
  await explained.waitFor({ state: "hidden" });
  await page.getByText("What the words mean").press("Enter");
  await page.locator(".words").getByText(text).waitFor();
});

test("a pause and a resume have a reason, which the overview and the API's list of topics show", async () => {
  const page = await browser.open("/console");
  await openTopicMenu(page, "precise");
  await page.getByRole("button", { name: "Pause precise …" }).click();
  await giveReason(page, "the mail server is down");
  await page.getByRole("button", { name: "Pause the topic" }).click();
  const line = page.getByRole("listitem").filter({ hasText: "precise has been paused since" });
  await line.getByText(/^precise has been paused since .* by a caller: the mail server is down\.$/).waitFor();
  await topicRow(page, "precise").getByText("paused").waitFor();
  // The menu is closed again, and the keyboard goes on where it was.
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label")))
    .toBe("Actions of precise");
  const pause = async () => (await api.topics()).find(({ topic }) => topic === "precise")?.pause;
  const by = { kind: "caller", reason: "the mail server is down" };
  expect(await pause()).toMatchObject({ state: "paused", by });
  await line.getByRole("button", { name: "Resume precise …" }).click();
  await giveReason(page, "it is back");
  await page.getByRole("button", { name: "Resume the topic" }).click();
  await page.getByText("Resumed precise. 0 jobs were released.").waitFor();
  const resumed = { state: "resuming", by: { kind: "caller", reason: "it is back" } };
  expect(await pause()).toMatchObject(resumed);
});

test("a topic that was resumed a moment ago can be paused again at once", async () => {
  const page = await browser.open("/console");
  const row = topicRow(page, "precise");
  const names = () => page.locator("table.topics tbody th a").allTextContents();
  const isFirst = async () => (await names()).indexOf("precise") < (await names()).indexOf("events");
  // Other tests make other topics late.
  const orderIsKnown = () => page.locator(".topics").waitFor();
  await orderIsKnown();
  expect(await isFirst()).toBe(false);
  for (const round of ["first", "second"]) {
    await openTopicMenu(page, "precise");
    await page.getByRole("button", { name: "Pause precise …" }).click();
    await page.getByRole("button", { name: "Pause the topic" }).click();
    await row.getByText("paused").waitFor();
    await page
      .getByRole("link", { name: new RegExp(`^precise has been paused since ${TIME} .*\\.$`) })
      .waitFor();
    // A topic in trouble stands before those that are fine, but no line moves while the view is open.
    expect(await isFirst()).toBe(round === "second");
    await page.reload();
    await orderIsKnown();
    expect(await isFirst()).toBe(true);
    await openTopicMenu(page, "precise");
    expect(await page.getByRole("button", { name: "Pause precise …" }).count()).toBe(0);
    await row.getByRole("button", { name: "Resume precise …" }).click();
    await page.getByText("No job is held.").waitFor();
    await page.getByText(/^The queue has no messages of this topic|^The queue also has messages/).waitFor();
    await page.getByRole("button", { name: "Resume the topic" }).click();
    await page.getByText("Resumed precise. 0 jobs were released.").waitFor();
    // The API still calls the topic `resuming`, but no job waits.
    await row.getByText("paused").waitFor({ state: "detached" });
    expect(await row.getByText("resuming").count()).toBe(0);
  }
});

test("a due job of a paused topic is held in each view and not late, and its topic leads to it", async () => {
  await api.pause("precise");
  try {
    // So long the topic's jobs may still start. Then the job must be due for so long that it would be late.
    await sleep(5500);
    const { id } = await api.enqueue("precise", {}, { delay: 0, key: "overview-held" });
    await sleep(6000);
    const page = await browser.open(`/console/jobs/${id}`);
    await page.getByText(new RegExp(`^is held: the topic has been paused since ${TIME} `)).waitFor();
    await page.getByRole("heading", { name: /^overview-held held$/ }).waitFor();
    await page.goto(`${stackUrl}/console`);
    await topicRow(page, "precise").getByRole("link", { name: "precise", exact: true }).click();
    await page.getByRole("link", { name: "Its held jobs" }).click();
    await page.getByRole("link", { name: /^held overview-held precise/ }).waitFor();
    await page.getByText(new RegExp(`^paused since ${TIME} `)).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Time" }).click();
    await page.getByRole("button", { name: "last hour" }).click();
    await page
      .getByRole("region", { name: "precise" })
      .getByText(/^1 held; tallest bar 1/)
      .waitFor();
  } finally {
    await api.resume("precise");
  }
});
