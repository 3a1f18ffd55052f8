import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import type { Duration } from "../../src/general/times.ts";
import { PATIENCE_MS } from "../patience.ts";
import { expectAccessible } from "./accessible.ts";
import { testBrowser } from "./browser.ts";
import { giveReason } from "./give-reason.ts";
import { playScene, type Scene } from "./scene.ts";
import { stackUrl } from "./stack-url.ts";
import { TIME } from "./time-text.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });
let scene: Scene;

beforeAll(async () => {
  scene = await playScene(api, "job");
});

const file = (key: string, delay: Duration = "1h") =>
  api.enqueue("work", { orderId: 17 }, { key: `job-${key}`, delay });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

test("the life of a job says what happened, how late its run was, and what comes next", async () => {
  const page = await browser.open(`/console/jobs/${scene.retried.id}`);
  const life = page.getByRole("list").filter({ hasText: "filed" });
  await life.waitFor();
  const texts = await life.getByRole("listitem").allInnerTexts();
  expect(texts.map((text) => text.split(new RegExp(` ${TIME}`))[0])).toEqual([
    "+\nfiled",
    "→\nsent to the queue for attempt 1",
    expect.stringMatching(/^▶\nstarted attempt 1, \d.* late$/),
    "✕\nfailed attempt 1",
    "↻\nretry planned",
    "…\nwaits for attempt 2 of 3, which starts",
  ]);
  expect(texts.join()).toContain("the shop answered 503");
  expect(texts[1]).toMatch(/ after the event before$/);
  // The worker asked for a retry in an hour.
  expect(texts[4]).toMatch(/, 1 h( \d+ s)? later than before$/);
});

test("the life of a held job says what holds it, and until when", async () => {
  const page = await browser.open(`/console/jobs/${scene.held.id}`);
  const held = page.getByRole("listitem").filter({ has: page.getByText("held", { exact: true }) });
  await held.getByText("by its topic's window").waitFor();
  await held.getByText(new RegExp(`^until ${TIME}`)).waitFor();
});

test("a job's page says in a sentence why the job has not run, or how it ended", async () => {
  const page = await browser.open(`/console/jobs/${scene.waiting.id}`);
  const why = page.locator("p.why");
  const said = async (id: string) => {
    await page.goto(`${stackUrl}/console/jobs/${id}`);
    await why.waitFor();
    return ((await why.textContent()) ?? "").replaceAll(
      new RegExp(String.raw`${TIME} \S+ \([^)]+\)`, "g"),
      "TIME",
    );
  };
  const WAITS = "Why has it not run yet? ";
  expect(await said(scene.waiting.id)).toBe(`${WAITS}It is due later: it starts TIME.`);
  expect(await said(scene.retried.id)).toBe(
    `${WAITS}Attempt 1 of 3 failed TIME: "the shop answered 503". Attempt 2 starts TIME.`,
  );
  expect(await said(scene.held.id)).toMatch(/It was due TIME\. The window of its topic .* it starts TIME\.$/);
  expect(await said(scene.dead.id)).toBe(
    'Why is it dead? It is dead since TIME, because its consumer gave it up in attempt 1 of 3: "TypeError: cannot read the price of order 17". Mend the cause, then redrive the job.',
  );
  expect(await said(scene.done.id)).toBe("It has run: attempt 1 started TIME and was done TIME.");
  expect(await said(scene.cancelled.id)).toBe(
    "Why did it not run? It will not run: it was cancelled TIME by a caller.",
  );
});

test("the page of an id that no job has says what that can mean", async () => {
  const page = await browser.open("/console/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV");
  await page.getByText("If you expected a job here, one of these is so:").waitFor();
  await page.getByText("its topic's retention is over").waitFor();
  await page.goto(`${stackUrl}/console/jobs?find=nobody`);
  await page.getByText("The id or the key has a mistake").waitFor();
});

test("the page of a failed job has its attempts, its stack trace and its log, also after the job has run again", async () => {
  const body = { fails: "no bank", failsUntil: 2 };
  const { id } = await api.enqueue("reminders", body, { delay: 0, maxAttempts: 3, key: "job-log" });
  await expect.poll(async () => (await api.get(id)).state, { timeout: PATIENCE_MS }).toBe("done");
  const page = await browser.open(`/console/jobs/${id}`);
  const lines = page.getByRole("region", { name: "Lines of the log" });
  await lines.getByText(/threw in attempt 1$/).click();
  await lines.getByText(/^\s*Error: no bank/).waitFor();
  await lines.getByText(/reminder id=\S+ attempt=1/).waitFor();
  await lines.getByText(/done in attempt 2$/).waitFor();
  const trace = page.getByRole("region", { name: "Stack trace of the last error" });
  await trace.getByText("1 frame of packages and Node.js").click();
  await trace.getByText(/at AsyncLocalStorage\.run/).waitFor();
  const rows = page.getByRole("table").getByRole("row");
  await expect.poll(() => rows.count()).toBe(4);
  await page.getByRole("cell", { name: /^no bank/ }).waitFor();
  expect(await rows.nth(1).textContent()).toMatch(/^2 of 3\s?done/);
  expect(await rows.nth(2).textContent()).toMatch(/^1 of 3\s?failed/);
  const life = page.getByRole("list").filter({ hasText: "filed" });
  await life.getByText(/^retry at /).waitFor();
});

test("on a phone, the actions of a job stay in sight", async () => {
  const page = await browser.open(`/console/jobs/${scene.retried.id}`, {
    viewport: { width: 390, height: 700 },
  });
  await page.getByRole("heading", { name: "Facts" }).scrollIntoViewIfNeeded();
  const box = await button(page, "Run now …").boundingBox();
  expect(box?.y).toBeGreaterThanOrEqual(0);
  expect(box?.y).toBeLessThan(200);
});

test("a job is run now, after the dialog has said what that means", async () => {
  const job = await file("run-now");
  const page = await browser.open(`/console/jobs/${job.id}`);
  await button(page, "Run now …").click();
  await page.getByRole("dialog").getByText("becomes due now").waitFor();
  await button(page, "Run the job now").click();
  await page.getByText("is due now. It starts within seconds.").waitFor();
  expect(Date.parse((await api.get(job.id)).dueAt)).toBeLessThan(Date.parse(job.dueAt));
});

test("a job is rescheduled to a time in words", async () => {
  const job = await file("reschedule");
  const page = await browser.open(`/console/jobs/${job.id}`, { timezoneId: "Asia/Tokyo" });
  await button(page, "Reschedule …").click();
  const field = page.getByLabel("New time");
  await field.fill("some day");
  await page.getByText("the time must be such as").waitFor();
  expect(await button(page, "Reschedule the job").isDisabled()).toBe(true);
  await field.fill("yesterday 9:00");
  await page.getByText(/ago: in the past, so it means at once$/).waitFor();
  await field.fill("2030-03-01T09:00:00Z");
  await button(page, "Reschedule the job").click();
  await page.getByText("at 1 Mar 2030, 18:00:00 GMT+9.").waitFor();
  expect((await api.get(job.id)).dueAt).toBe("2030-03-01T09:00:00.000Z");
  await button(page, "Reschedule …").click();
  await button(page, "2 h later").click();
  await button(page, "Reschedule the job").click();
  await page.getByText("at 1 Mar 2030, 20:00:00 GMT+9.").waitFor();
});

test("a body is changed, and a mistake in it is named with its line", async () => {
  const job = await file("body");
  const page = await browser.open(`/console/jobs/${job.id}`);
  await button(page, "Change the body …").click();
  const field = page.getByLabel("Body (JSON)");
  expect(JSON.parse(await field.inputValue())).toEqual({ orderId: 17 });
  await field.fill('{\n  "orderId": 18,\n}');
  await button(page, "Line 3, column 1").waitFor();
  expect(await button(page, "Change the body").isDisabled()).toBe(true);
  await field.fill('{\n  "orderId": 18\n}');
  await button(page, "Change the body").click();
  await page.getByText("Changed the body of job-body.").waitFor();
  expect((await api.get(job.id)).body).toEqual({ orderId: 18 });
  // The time is as before, so the job is not called moved.
  await page.getByRole("listitem").getByText("changed", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Show the lines of this job in the live log" }).click();
  await expect.poll(() => new URL(page.url()).search).toBe(`?job=${job.id}`);
});

test("a job is cancelled, and then no action is possible, each with its reason", async () => {
  const job = await file("cancel");
  const page = await browser.open(`/console/jobs/${job.id}`);
  await button(page, "Cancel …").click();
  await button(page, "Cancel the job").click();
  await page.getByText("Cancelled job-cancel. It will not run.").waitFor();
  await page.getByText("cancelled", { exact: true }).first().waitFor();
  expect((await api.get(job.id)).state).toBe("cancelled");
  await expect.poll(() => button(page, "Run now …").isDisabled()).toBe(true);
  expect(await button(page, "Run now …").getAttribute("title")).toContain("the job is cancelled");
});

test.each([
  { action: "Run now", confirm: "Run the job now", event: "moved" },
  { action: "Reschedule", confirm: "Reschedule the job", event: "moved" },
  { action: "Change the body", confirm: "Change the body", event: "moved" },
  { action: "Cancel", confirm: "Cancel the job", event: "cancelled" },
])("$action: a reason stands in the job's timeline", async ({ action, confirm, event }) => {
  const job = await file(`reason-${action.replaceAll(" ", "-")}`);
  const page = await browser.open(`/console/jobs/${job.id}`);
  await button(page, `${action} …`).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.getByLabel("Reason").isVisible()).toBe(false);
  if (action === "Reschedule") await dialog.getByLabel("New time").fill("in 2 hours");
  await giveReason(page, ` ticket 17, ${action} ${"x".repeat(100)}`);
  expect((await dialog.getByLabel("Reason").inputValue()).length).toBe(100);
  await expectAccessible(page);
  await button(page, confirm).click();
  await page.getByRole("listitem").getByText(`by a caller: ticket 17, ${action} x`).waitFor();
  const reason = expect.stringMatching(new RegExp(`^ticket 17, ${action} x+$`));
  expect((await api.get(job.id)).timeline.at(-1)).toMatchObject({ event, by: { kind: "caller", reason } });
});

test("a reason that a user has not given, or has closed the dialog over, is not sent", async () => {
  const job = await file("no-reason");
  const page = await browser.open(`/console/jobs/${job.id}`);
  await button(page, "Cancel …").click();
  await giveReason(page, "a mistake");
  await button(page, "Close").click();
  await button(page, "Cancel …").click();
  await giveReason(page, "  ");
  await button(page, "Cancel the job").click();
  await page.getByText("Cancelled job-no-reason. It will not run.").waitFor();
  expect((await api.get(job.id)).timeline.at(-1)?.by).toEqual({ kind: "caller" });
});

test("an action that comes too late shows the API's own error, and changes nothing", async () => {
  const job = await file("too-late");
  const page = await browser.open(`/console/jobs/${job.id}`);
  await button(page, "Cancel …").click();
  await api.reschedule(job.id, { delay: 0 });
  let receipt: string | undefined;
  while (receipt === undefined) {
    for (const one of await api.receive("work", { max: 10, waitSeconds: 2 })) {
      if (one.id === job.id) receipt = one.receipt;
      else await api.retry("work", one.receipt, { delay: "1h" });
    }
  }
  await button(page, "Cancel the job").click();
  await page.getByRole("alert").getByText("job-running").waitFor();
  expect((await api.get(job.id)).state).toBe("running");
  await api.finish("work", receipt);
});

test("a body that another person has changed meanwhile is not overwritten, and the dialog shows it", async () => {
  const job = await file("changed");
  const page = await browser.open(`/console/jobs/${job.id}`);
  await button(page, "Change the body …").click();
  const field = page.getByLabel("Body (JSON)");
  await field.fill('{"orderId": 18}');
  await api.reschedule(job.id, { body: { orderId: 19 } });
  await button(page, "Change the body").click();
  await page.getByRole("alert").getByText("changed-meanwhile").waitFor();
  expect((await api.get(job.id)).body).toEqual({ orderId: 19 });
  await button(page, "Use the present job").click();
  expect(JSON.parse(await field.inputValue())).toEqual({ orderId: 19 });
  await button(page, "Change the body").click();
  await page.getByText("Changed the body of job-changed.").waitFor();
});

test("a dead job is redriven", async () => {
  const page = await browser.open(`/console/jobs/${scene.dead.id}`);
  await page.getByText("TypeError: cannot read the price of order 17").first().waitFor();
  await button(page, "Redrive …").click();
  await page.getByRole("dialog").getByText("TypeError: cannot read the price of order 17").waitFor();
  await giveReason(page, "the shop is back");
  await button(page, "Redrive the job").click();
  await page.getByText("Redriven job-dead. It runs now.").waitFor();
  expect((await api.get(scene.dead.id)).state).not.toBe("dead");
  await page.getByRole("listitem").getByText("redriven", { exact: true }).waitFor();
  await page.getByRole("listitem").getByText("by a caller: the shop is back").waitFor();
});

test("hostile texts of a job are shown as texts", async () => {
  const hostile = '<img src=x onerror="alert(1)"><script>alert(1)</script>\u202ereversed';
  const job = await api.enqueue(
    "work",
    { [hostile]: hostile },
    { delay: "1h", tag: "<b>tag</b>", key: "job-hostile" },
  );
  const page = await browser.open(`/console/jobs/${job.id}`);
  await page.getByText("<b>tag</b>").waitFor();
  expect(await page.getByRole("region", { name: "Text of the body" }).textContent()).toContain(
    "<script>alert(1)</script>",
  );
  expect(await page.locator("main img, main script, main b").count()).toBe(0);
});

test("texts from right to left and marks of direction do not change the order of a body", async () => {
  const body = { שלום: "مرحبا", name: "gnp.\u202eexe" };
  const job = await api.enqueue("work", body, { delay: "1h", tag: "\u202etag", key: "job-direction" });
  const page = await browser.open(`/console/jobs/${job.id}`);
  const text = page.getByRole("region", { name: "Text of the body" });
  await text.getByText('"gnp.\\u202eexe"').waitFor();
  const [key, value] = await text
    .locator("bdi")
    .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().x));
  expect(key).toBeLessThan(value ?? 0);
  // Inside of a string, quotes and escapes stand from left to right.
  const directions = await text
    .locator("bdi")
    .evaluateAll((parts) => parts.map((part) => getComputedStyle(part).direction));
  expect(new Set(directions)).toEqual(new Set(["ltr"]));
  await page.getByRole("link", { name: "\\u202etag", exact: true }).waitFor();
  await button(page, "Change the body …").click();
  const edited = await page.getByLabel("Body (JSON)").inputValue();
  expect(edited).toContain("\\u202e");
  expect(JSON.parse(edited)).toEqual(body);
});

test("a body of 200 KiB is shown, scrolled and changed", async () => {
  const body = { text: "x".repeat(190_000), lines: Array.from({ length: 500 }, (_, index) => index) };
  const job = await api.enqueue("work", body, { delay: "1h", key: "job-large" });
  const page = await browser.open(`/console/jobs/${job.id}`);
  await page.getByRole("region", { name: "Text of the body" }).waitFor();
  await button(page, "Change the body …").click();
  expect(JSON.parse(await page.getByLabel("Body (JSON)").inputValue())).toEqual(body);
});

test("a job of a paused topic is due at its time, and the list marks that its topic is paused", async () => {
  await api.pause("precise");
  try {
    const { id } = await api.enqueue("precise", {}, { dueAt: "2031-06-01T09:00:00Z", key: "job-of-paused" });
    const page = await browser.open(`/console/jobs/${id}`);
    await page
      .getByText(/^attempt 1 of \d+ is due 1 Jun 2031, .*; the topic has been paused since /)
      .waitFor();
    await page.goto(
      `${stackUrl}/console/jobs?topic=precise&from=2031-06-01T00:00:00Z&to=2031-06-02T00:00:00Z`,
    );
    await page.getByRole("link", { name: /^scheduled job-of-paused precise .* topic paused$/ }).waitFor();
  } finally {
    await api.resume("precise");
  }
});
