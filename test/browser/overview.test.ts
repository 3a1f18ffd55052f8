import { expect, inject, test } from "vitest";
import { createClient } from "../../client/client.ts";
import { testBrowser } from "./browser.ts";

const browser = testBrowser();
const api = createClient({ url: inject("stackUrl") });

test("the overview counts the jobs that are due next, and leads to them", async () => {
  await api.enqueue("work", { orderId: 17 }, { delay: "5m", key: "overview-17" });
  const page = await browser.open("/console");
  const card = page.getByRole("listitem", { name: "work" });
  // Other tests may have jobs there too.
  await card.getByRole("link", { name: /^[1-9]\d* jobs? due in the next 15 minutes$/ }).waitFor();
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

test("a topic that was resumed a moment ago can be paused again at once", async () => {
  const page = await browser.open("/console");
  const card = page.getByRole("listitem", { name: "precise" });
  for (const _ of ["first", "second"]) {
    await card.getByRole("button", { name: "Pause …" }).click();
    await page.getByRole("button", { name: "Pause the topic" }).click();
    await card.getByText(/^❚❚ paused since \d\d:\d\d:\d\d /).waitFor();
    await page.getByRole("link", { name: /^precise has been paused since \d\d:\d\d:\d\d .*\.$/ }).waitFor();
    // A topic in trouble stands before those that are fine.
    const names = await page.locator(".card h2").allTextContents();
    expect(names.indexOf("precise")).toBeLessThan(names.indexOf("events"));
    expect(await card.getByRole("button", { name: "Pause …" }).count()).toBe(0);
    await card.getByRole("button", { name: "Resume …" }).click();
    await page.getByRole("button", { name: "Resume the topic" }).click();
    await page.getByText("Resumed precise. 0 jobs were released.").waitFor();
    // The API still calls the topic `resuming`, but no job waits.
    await card.getByText("❚❚ paused").waitFor({ state: "detached" });
    expect(await card.getByText("▶ resuming").count()).toBe(0);
  }
});
