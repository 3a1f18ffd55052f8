import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { testBrowser } from "./browser.ts";

const browser = testBrowser();
const api = createClient({ url: inject("stackUrl") });
const HOUR = 3_600_000;

/** Tells a page that its time is another one. */
const clockOff = (ms: number) => `{
  const now = Date.now;
  Date.now = () => now() + ${ms};
}`;

const job = (key: string, more: object) => ({
  id: `01KJMA0SCG008DS270HCQCKA4${key.toUpperCase()}`,
  topic: "work",
  key,
  state: "scheduled",
  dueAt: "2026-03-01T09:00:00.000Z",
  revision: 0,
  attempt: 0,
  maxAttempts: 3,
  createdAt: "2026-03-01T08:00:00.000Z",
  ...more,
});

test("each page of a list is judged by the API's clock when it was read", async () => {
  const page = await browser.open("/console");
  await page.route(`${inject("stackUrl")}/jobs?*`, async (route) => {
    const isSecond = new URL(route.request().url()).searchParams.has("cursor");
    const json = isSecond
      ? { jobs: [job("b", { lateSince: "2026-03-01T09:00:00.000Z" })], at: "2026-03-01T09:01:00.000Z" }
      : { jobs: [job("a", {})], at: "2026-03-01T09:00:02.000Z", cursor: "x" };
    await route.fulfill({ json });
  });
  await page.goto(`${inject("stackUrl")}/console/jobs?topic=work`);
  await page.getByRole("listitem").filter({ hasText: "b" }).filter({ hasText: "late" }).waitFor();
  const first = page.getByRole("listitem").filter({ has: page.getByText("a", { exact: true }) });
  expect(await first.getByText(/scheduled$/).count()).toBe(1);
  expect(await page.locator(".badge.late").count()).toBe(1);
});

test.each([24 * HOUR, -24 * HOUR])(
  "a browser clock that is %i ms off makes no job late or held",
  async (off) => {
    const key = `late-clock-${off}`;
    const { id, dueAt } = await api.enqueue("work", {}, { delay: "20m", key });
    const page = await browser.open("/console");
    await page.addInitScript(clockOff(off));
    await page.goto(`${inject("stackUrl")}/console/jobs/${id}`);
    await page.getByRole("heading", { name: new RegExp(`^${key} scheduled$`) }).waitFor();
    const range = new URLSearchParams({
      topic: "work",
      from: dueAt,
      to: new Date(Date.parse(dueAt) + 1).toISOString(),
    });
    await page.goto(`${inject("stackUrl")}/console/jobs?${range}`);
    await page.getByText(key).waitFor();
    expect(await page.locator(".badge.late, .badge.held").count()).toBe(0);
  },
);

test("a page that is read no more turns no job red, and the overview says which jobs are late", async () => {
  const { id } = await api.enqueue("work", {}, { delay: "4s", key: "late-stopped" });
  const page = await browser.open(`/console/jobs/${id}`, { ignoresFailedCalls: true });
  await page.getByRole("heading", { name: /^late-stopped scheduled$/ }).waitFor();
  await page.route(/\/(?:jobs|topics|forecast)/, (route) => route.abort());
  await sleep(11_000);
  expect(await page.getByRole("heading", { name: /^late-stopped scheduled$/ }).count()).toBe(1);
  await page.unrouteAll();
  await page.getByRole("heading", { name: /^late-stopped late$/ }).waitFor();
  await page.goto(`${inject("stackUrl")}/console`);
  await page
    .getByRole("link", { name: /of work should have started and ha(?:s|ve) not, the oldest since/ })
    .waitFor();
  await api.cancel({ topic: "work", key: "late-stopped" });
});
