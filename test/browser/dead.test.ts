import { beforeAll, expect, test } from "vitest";
import type { JobSummary } from "../../src/client/answers.ts";
import { createClient } from "../../src/client/client.ts";
import { testBrowser } from "./browser.ts";
import { clockOff } from "./clock-off.ts";
import { giveReason } from "./give-reason.ts";
import { stackUrl } from "./stack-url.ts";
import { TIME } from "./time-text.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });

/** Files jobs of `days` and `nights`, which no other test reads, in the topic whose window is open, and lets each of them die. */
let topic = "";
let dead: JobSummary[] = [];

beforeAll(async () => {
  const errors = Array.from({ length: 6 }, (_, index) => `no order ${1000 + index} in the shop`);
  for (const name of ["days", "nights"]) {
    const jobs = await Promise.all(
      [...errors, "the shop answered 503"].map((error) => api.enqueue(name, { error }, { delay: 0 })),
    );
    const isHeld = async () => (await api.get(jobs[0]?.id ?? "")).heldUntil !== undefined;
    const left = new Map(jobs.map((job) => [job.id, job]));
    while (left.size > 0 && !(await isHeld())) {
      for (const { id, receipt, body } of await api.receive(name, {
        max: 10,
        waitSeconds: 2,
      })) {
        if (left.delete(id)) await api.bury(name, receipt, { error: (body as { error: string }).error });
      }
    }
    if (left.size === 0) [topic, dead] = [name, jobs];
  }
});

test("jobs of a group are chosen as a range, and stay chosen in the open group after a look at one", async () => {
  const page = await browser.open(`/console/dead?topic=${topic}`);
  await page.getByTitle("the first of those that are dead now").waitFor();
  await page.getByText("6 × no order … in the shop").click();
  const boxes = page.getByRole("checkbox", { name: /^Choose / });
  await boxes.nth(1).click();
  await boxes.nth(3).click({ modifiers: ["Shift"] });
  await page.getByText("3 are chosen.").waitFor();
  await page.locator(".choice a").first().click();
  await page.getByText(`A job of ${topic}`).waitFor();
  await page.goBack();
  const checked = () =>
    boxes.evaluateAll((all) => all.map((box) => (box as unknown as { checked: boolean }).checked));
  await expect.poll(checked).toEqual([false, true, true, true, false, false]);
  await page.getByRole("button", { name: "Redrive 3 jobs …" }).click();
  await page.getByLabel(/At most this many starts/).fill("2000");
  await page.getByText("must be from 0.001 to 1,000").waitFor();
});

test("dead jobs are grouped by error, and a whole group is run again", async () => {
  const page = await browser.open(`/console/dead?topic=${topic}`);
  const group = page.getByRole("listitem").filter({ hasText: "6 × no order … in the shop" });
  const redrive = group.getByRole("button", { name: "Redrive 6 jobs of this group …" });
  await redrive.waitFor();
  await group.getByText("6 × no order … in the shop").click();
  await group
    .getByLabel("The error of the last of these jobs")
    .getByText(/no order \d+ in the shop/)
    .waitFor();
  await group.getByRole("button", { name: "Choose all 6 of this group" }).click();
  await page.getByText("6 are chosen").waitFor();
  await page.getByRole("button", { name: "Redrive 6 jobs …" }).waitFor();
  await redrive.click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(/become due at once/).waitFor();
  await dialog.getByRole("listitem").filter({ hasText: "no order … in the shop" }).waitFor();
  const height = async () => (await dialog.boundingBox())?.height;
  const before = await height();
  await dialog.getByLabel(/At most this many starts/).fill("2");
  await dialog.getByText("The starts take 3 s.").waitFor();
  expect(await height()).toBe(before);
  await giveReason(page, "the orders are back");
  await dialog.getByRole("button", { name: "Redrive 6 jobs" }).click();
  await page.getByText(`Redriven 6 jobs of ${topic}.`).waitFor();
  await page.getByText("6 are chosen").waitFor({ state: "hidden" });
  const jobs = await Promise.all(dead.slice(0, 6).map(({ id }) => api.get(id)));
  expect(jobs.map(({ state }) => state)).not.toContain("dead");
  const by = { kind: "caller", reason: "the orders are back" };
  for (const { timeline } of jobs) expect(timeline).toContainEqual(expect.objectContaining({ by }));
  await page.goto(`${stackUrl}/console/last-actions`);
  const line = page
    .getByRole("main")
    .getByRole("listitem")
    .filter({ hasText: `Redriven 6 jobs of ${topic}.` });
  await line.getByText("Reason: the orders are back").waitFor();
});

test("each topic says its largest kinds of errors, and when the newest of their jobs died", async () => {
  const page = await browser.open("/console/dead");
  const line = page.locator(".links > li").filter({ hasText: `${topic}: ` });
  const kind = line.getByRole("listitem").filter({ hasText: "1 × the shop answered 503" });
  await kind.getByText(/, newest (now|.* ago)$/).waitFor();
});

test("with a clock that is a day off, the view says from when it is by the queue's clock", async () => {
  const page = await browser.open("/console/enqueue");
  await page.addInitScript(clockOff(24 * 60 * 60_000));
  const before = Date.now();
  await page.goto(new URL(`/console/dead?topic=${topic}`, page.url()).href);
  const text = page.getByText(new RegExp(`^As of ${TIME} `));
  const readAt = async () => Date.parse((await text.locator("time").first().getAttribute("datetime")) ?? "");
  await expect.poll(async () => Math.abs((await readAt()) - before)).toBeLessThan(60_000);
});

test("a group that moves in the list keeps the focus, and the view says from when it is", async () => {
  const page = await browser.open(`/console/dead?topic=${topic}`);
  await page.getByText(new RegExp(`^As of ${TIME} `)).waitFor();
  const button = page.getByRole("button", { name: /^Redrive 1 job of this group/ });
  await button.focus();
  // A list whose order changes moves some of its items.
  await page
    .locator(".group")
    .last()
    .evaluate((group) => group.parentElement?.append(group));
  await expect.poll(() => button.evaluate((element) => element === document.activeElement)).toBe(true);
});

test("a group says when its last job died, and a single death has no rate", async () => {
  const page = await browser.open(`/console/dead?topic=${topic}`);
  const group = page.locator(".group").filter({ hasText: "the shop answered 503" });
  await group.getByText(/^last .* ago$/).waitFor();
  expect(await group.getByText(/ in the last hour$| within /).count()).toBe(0);
  await group.getByRole("link", { name: "Newest job of: the shop answered 503" }).click();
  await page.getByText(`A job of ${topic}`).waitFor();
});

test("jobs that wait for their retries are grouped by error too", async () => {
  const ids = await Promise.all(
    [1, 2].map(async (number) => (await api.enqueue(topic, { number }, { delay: 0 })).id),
  );
  const left = new Set(ids);
  while (left.size > 0) {
    for (const { id, receipt, body } of await api.receive(topic, { max: 10, waitSeconds: 2 })) {
      const error = `no shelf ${(body as { number?: number }).number}`;
      if (left.delete(id)) await api.retry(topic, receipt, { delay: "1h", error });
      else await api.finish(topic, receipt);
    }
  }
  const page = await browser.open(`/console/dead?topic=${topic}`);
  await page.getByRole("button", { name: "Retrying" }).click();
  await page.getByText("2 jobs wait for a retry.").waitFor();
  const group = page.locator(".group").filter({ hasText: "2 × no shelf …" });
  await group.getByText(/^next retry in \d+ min$/).waitFor();
  await expect.poll(() => group.locator("[data-line]").count()).toBe(2);
});

/** Opens the dead jobs of a topic that has these errors. The later ones are newer. */
async function openDead(errors: readonly string[]) {
  const page = await browser.open("/console/enqueue");
  const jobs = errors.map((lastError, index) => {
    const at = new Date(Date.now() - (errors.length - index) * 60_000).toISOString();
    const id = `01KJMA0SCG008DS270HCQCKA${String(index).padStart(2, "0")}`;
    const attempts = { revision: 0, attempt: 3, maxAttempts: 3 };
    return { id, topic, state: "dead", dueAt: at, createdAt: at, finishedAt: at, lastError, ...attempts };
  });
  await page.route(/\/topics\/[^/]+\/dead/, (route) => route.fulfill({ json: { jobs, at: new Date() } }));
  await page.goto(`${stackUrl}/console/dead?topic=${topic}`);
  return page;
}

test("groups are ordered by their size or by their first death, and the address keeps the order", async () => {
  const page = await openDead(["the shop is closed", "no price", "the shop is closed"]);
  const names = page.locator(".group-name");
  await expect.poll(() => names.allTextContents()).toEqual(["2 × the shop is closed", "1 × no price"]);
  await page.getByLabel("Order").selectOption("newest kind first");
  await expect.poll(() => names.allTextContents()).toEqual(["1 × no price", "2 × the shop is closed"]);
  await page.reload();
  await expect.poll(() => names.allTextContents()).toEqual(["1 × no price", "2 × the shop is closed"]);
  expect(await page.getByRole("checkbox").count()).toBe(0);
});

test("on a phone the topic and the order share a line", async () => {
  const page = await openDead(["no price"]);
  await page.setViewportSize({ width: 360, height: 800 });
  const topOf = async (label: string) => (await page.getByRole("combobox", { name: label }).boundingBox())?.y;
  await expect.poll(() => topOf("Order")).toBeGreaterThan(0);
  expect(await topOf("Order")).toBe(await topOf("Topic"));
});

test("a group that stands alone is open, and can be closed", async () => {
  const page = await openDead(["no price", "no price"]);
  await expect.poll(() => page.getByRole("checkbox").count()).toBe(2);
  await page.locator(".group summary").click();
  await expect.poll(() => page.getByRole("checkbox").count()).toBe(0);
  await page.locator(".group summary").click();
  await expect.poll(() => page.getByRole("checkbox").count()).toBe(2);
});

test("all dead jobs are run again, after they have been counted", async () => {
  const page = await browser.open(`/console/dead?topic=${topic}`);
  await page.getByText("1 × the shop answered 503").waitFor();
  await page.getByRole("button", { name: "Redrive all …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(/^1 job of/).waitFor();
  await dialog.getByRole("button", { name: "Redrive all: 1 job" }).click();
  await page.getByText(`Redriven 1 job of ${topic}.`).waitFor();
  await page.getByText(`No job of ${topic} is dead.`).waitFor();
  await page.getByRole("link", { name: "2 jobs wait for a retry" }).click();
  await page.getByText("2 × no shelf …").waitFor();
});
