import { expect, inject, test } from "vitest";
import { createClient } from "../../client/client.ts";
import { testBrowser } from "./browser.ts";

const browser = testBrowser();
const api = createClient({ url: inject("stackUrl") });
const DAY = "2030-08-01";

const rangeOf = (url: string) => {
  const { searchParams } = new URL(url);
  return [searchParams.get("from"), searchParams.get("to")].map((time) => Date.parse(time ?? ""));
};

test("a long range counts jobs, a short one draws them as links", async () => {
  for (const minute of ["00", "01", "02"])
    await api.enqueue("work", {}, { dueAt: `${DAY}T09:${minute}:30Z`, key: `time-${minute}` });
  const page = await browser.open(`/console/time?topic=work&from=${DAY}T08:30:00Z&to=${DAY}T10:00:00Z`);
  await page.getByText("3 due").waitFor();
  await page.getByText("The numbers as a table").click();
  await page.getByRole("link", { name: "1 due" }).first().waitFor();
  await page.goto(`${inject("stackUrl")}/console/time?topic=work&from=${DAY}T09:00:00Z&to=${DAY}T09:05:00Z`);
  await page.getByRole("link", { name: "time-01, scheduled" }).click();
  await page.getByRole("heading", { name: "time-01" }).waitFor();
});

test("a bar leads to its jobs", async () => {
  await api.enqueue("work", {}, { dueAt: `${DAY}T15:00:30Z`, key: "time-bar" });
  const page = await browser.open(`/console/time?topic=work&from=${DAY}T14:00:00Z&to=${DAY}T16:00:00Z`);
  const chart = page.getByRole("img", { name: /^Jobs of work: 1 due/ });
  await chart.waitFor();
  const box = await chart.boundingBox();
  await chart.click({ position: { x: (box?.width ?? 0) * ((60.5 * 60) / 7200), y: 40 } });
  await page.getByText("time-bar").waitFor();
  expect(new URL(page.url()).pathname).toBe("/console/jobs");
});

test("the wheel, the keys, the buttons and a drag change the range in the address", async () => {
  const page = await browser.open(`/console/time?topic=work&from=${DAY}T00:00:00Z&to=${DAY}T04:00:00Z`);
  const lanes = page.locator(".lanes");
  await lanes.waitFor();
  const span = () => {
    const [from = 0, to = 0] = rangeOf(page.url());
    return to - from;
  };
  const hours = 4 * 3_600_000;
  await page.keyboard.press("+");
  await expect.poll(span).toBe(hours / 2);
  await page.getByRole("button", { name: "Show a longer range" }).click();
  await expect.poll(span).toBe(hours);
  const [before] = rangeOf(page.url());
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => rangeOf(page.url())[0]).toBe((before ?? 0) + hours / 4);
  await lanes.hover();
  await page.mouse.wheel(0, -100);
  await expect.poll(span).toBe(hours * 0.8);
  const [start = 0] = rangeOf(page.url());
  const box = (await lanes.boundingBox()) ?? { x: 0, y: 0, width: 0 };
  await page.mouse.move(box.x + 300, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 200, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await expect.poll(() => rangeOf(page.url())[0] ?? 0).toBeGreaterThan(start);
  expect(new URL(page.url()).pathname).toBe("/console/time");
});
