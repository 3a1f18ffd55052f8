import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { testBrowser } from "./browser.ts";
import { stackUrl } from "./stack-url.ts";
import { TIME } from "./time-text.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });

const pathOf = (page: Page) => new URL(page.url()).pathname;
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? "");

test("keys open each view, the search and the help", async () => {
  const page = await browser.open("/console");
  await page.getByText("What needs you").waitFor();
  for (const [key, path] of [
    ["j", "/console/jobs"],
    ["t", "/console/time"],
    ["d", "/console/dead"],
    ["s", "/console/schedules"],
    ["l", "/console/live"],
    ["e", "/console/enqueue"],
    ["o", "/console"],
  ] as const) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await expect.poll(() => pathOf(page)).toBe(path);
  }
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByText("open Schedules").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
});

test("a job is found by its key and cancelled with the keyboard alone", async () => {
  const job = await api.enqueue("work", {}, { delay: "1h", key: "frame-keyboard" });
  const page = await browser.open("/console");
  await page.getByText("What needs you").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("frame-keyboard");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Cancel …" }).waitFor();
  while (!(await focused(page)).startsWith("Cancel …")) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  while ((await focused(page)) !== "Cancel the job") await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByText(new RegExp(`^Cancelled frame-keyboard\\. It will not run\\. ${TIME} `)).waitFor();
  expect((await api.get(job.id)).state).toBe("cancelled");
  // The focus is back where the dialog was opened.
  await expect.poll(() => focused(page)).toBe("Cancel …");
});

test("in a narrow window each view is at the lower edge, or behind More", async () => {
  const page = await browser.open("/console", { viewport: { width: 360, height: 800 } });
  const links = page.getByRole("navigation", { name: "Views" }).getByRole("link");
  await links.first().waitFor();
  const ends = await links.evaluateAll((all) => all.map((link) => link.getBoundingClientRect()));
  expect(ends).toHaveLength(5);
  for (const { right, bottom } of ends) {
    expect(right).toBeLessThanOrEqual(360);
    expect(bottom).toBeLessThanOrEqual(800);
  }
  await page.getByRole("button", { name: "More" }).click();
  const more = page.getByRole("dialog");
  await more.getByLabel("Time zone").waitFor();
  await more.getByRole("link", { name: "Enqueue" }).click();
  await page.getByRole("heading", { name: "Enqueue" }).waitFor();
  await more.waitFor({ state: "hidden" });
});

test("each view says whether the queue needs a person", async () => {
  await api.pause("precise");
  try {
    const page = await browser.open("/console/enqueue");
    await page.getByRole("link", { name: /^(1 needs|\d+ need) you$/ }).click();
    await page.getByRole("link", { name: /^precise has been paused since/ }).waitFor();
  } finally {
    await api.resume("precise");
  }
});

test("keys that are typed into a field do nothing else", async () => {
  const page = await browser.open("/console/enqueue");
  await page.getByLabel("Key (optional)").fill("");
  await page.getByLabel("Key (optional)").pressSequentially("gj/?r");
  expect(await page.getByLabel("Key (optional)").inputValue()).toBe("gj/?r");
  expect(pathOf(page)).toBe("/console/enqueue");
});

test("times are shown in the chosen zone, also after a reload", async () => {
  const job = await api.enqueue("work", {}, { dueAt: "2030-03-01T09:00:00Z", key: "frame-zone" });
  const page = await browser.open(`/console/jobs/${job.id}`, { timezoneId: "Asia/Tokyo" });
  await page.getByText("18:00:00 GMT+9").first().waitFor();
  await page.getByLabel("Time zone").selectOption("UTC");
  await page.getByText("09:00:00 UTC").first().waitFor();
  await page.reload();
  await page.getByText("09:00:00 UTC").first().waitFor();
});

test("the colours follow the system or the choice", async () => {
  const page = await browser.open("/console", { colorScheme: "dark" });
  const back = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await back();
  await page.getByLabel("Colours").selectOption("light");
  await expect.poll(back).not.toBe(dark);
  await page.getByLabel("Colours").selectOption("auto");
  await expect.poll(back).toBe(dark);
});

test("back and forward show the views before and after", async () => {
  const page = await browser.open("/console");
  await page.getByRole("link", { name: "Dead", exact: true }).click();
  await page.getByRole("heading", { name: "Dead jobs" }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goForward();
  await page.getByRole("heading", { name: "Dead jobs" }).waitFor();
});
