import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { testBrowser } from "./browser.ts";
import { giveReason } from "./give-reason.ts";
import { TIME } from "./time-text.ts";

const browser = testBrowser();
const api = createClient({ url: inject("stackUrl") });

test("the overview counts the jobs that are due next, and leads to them", async () => {
  await api.enqueue("work", { orderId: 17 }, { delay: "5m", key: "overview-17" });
  const page = await browser.open("/console");
  const card = page.getByRole("listitem", { name: "work" });
  // Other tests may have jobs there too.
  await card.getByRole("link", { name: /^[1-9]\d* jobs? due in the next 15 minutes$/ }).waitFor();
  await card.getByText(/^, at most [1-9]\d* a minute$/).waitFor();
  await card.getByRole("link", { name: "work", exact: true }).click();
  await page.getByText("overview-17").waitFor();
  expect(new URL(page.url()).pathname).toBe("/console/jobs");
});

test("words that need an explanation have one", async () => {
  const page = await browser.open("/console");
  const text = "Messages that the consumer has received and not yet finished.";
  await page.getByRole("listitem", { name: "work" }).getByTitle(text).waitFor();
  const summary = page.getByText("What the words mean");
  await summary.press("Enter");
  await page.getByText(text).waitFor();
});

test("a pause and a resume have a reason, which the overview and the API's list of topics show", async () => {
  const page = await browser.open("/console");
  const card = page.getByRole("listitem", { name: "precise" });
  await card.getByRole("button", { name: "Pause precise …" }).click();
  await giveReason(page, "the mail server is down");
  await page.getByRole("button", { name: "Pause the topic" }).click();
  await card.getByText(/^❚❚ paused since .* by a caller: the mail server is down$/).waitFor();
  const pause = async () => (await api.topics()).find(({ topic }) => topic === "precise")?.pause;
  const by = { kind: "caller", reason: "the mail server is down" };
  expect(await pause()).toMatchObject({ state: "paused", by });
  await card.getByRole("button", { name: "Resume precise …" }).click();
  await giveReason(page, "it is back");
  await page.getByRole("button", { name: "Resume the topic" }).click();
  await page.getByText("Resumed precise. 0 jobs were released.").waitFor();
  const resumed = { state: "resuming", by: { kind: "caller", reason: "it is back" } };
  expect(await pause()).toMatchObject(resumed);
});

test("a topic that was resumed a moment ago can be paused again at once", async () => {
  const page = await browser.open("/console");
  const card = page.getByRole("listitem", { name: "precise" });
  const names = () => page.locator(".card h2").allTextContents();
  const isFirst = async () => (await names()).indexOf("precise") < (await names()).indexOf("events");
  // Other tests make other topics late.
  const orderIsKnown = () => page.locator(".topics").waitFor();
  await orderIsKnown();
  expect(await isFirst()).toBe(false);
  for (const round of ["first", "second"]) {
    await card.getByRole("button", { name: "Pause precise …" }).click();
    await page.getByRole("button", { name: "Pause the topic" }).click();
    await card.getByText(new RegExp(`^❚❚ paused since ${TIME} `)).waitFor();
    await page
      .getByRole("link", { name: new RegExp(`^precise has been paused since ${TIME} .*\\.$`) })
      .waitFor();
    // A topic in trouble stands before those that are fine, but no card moves while the view is open.
    expect(await isFirst()).toBe(round === "second");
    await page.reload();
    await orderIsKnown();
    expect(await isFirst()).toBe(true);
    expect(await card.getByRole("button", { name: "Pause precise …" }).count()).toBe(0);
    await card.getByRole("button", { name: "Resume precise …" }).click();
    await page.getByText("No job is held.").waitFor();
    await page.getByText(/^The queue has no messages of this topic|^The queue also has messages/).waitFor();
    await page.getByRole("button", { name: "Resume the topic" }).click();
    await page.getByText("Resumed precise. 0 jobs were released.").waitFor();
    // The API still calls the topic `resuming`, but no job waits.
    await card.getByText("❚❚ paused").waitFor({ state: "detached" });
    expect(await card.getByText("▶ resuming").count()).toBe(0);
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
    await page.goto(`${inject("stackUrl")}/console`);
    await page
      .getByRole("listitem", { name: "precise" })
      .getByRole("link", { name: "precise", exact: true })
      .click();
    await page.getByRole("link", { name: /^held overview-held precise/ }).waitFor();
    await page.getByText(new RegExp(`^❚❚ paused since ${TIME} `)).waitFor();
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
