import { expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { testBrowser } from "./browser.ts";
import { stackUrl } from "./stack-url.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });

test("what happens to a job is shown as it happens, and leads to the job", async () => {
  const page = await browser.open("/console/live");
  await page.getByRole("heading", { name: "Live" }).waitFor();
  const { id } = await api.enqueue("reminders", { text: "live" }, { delay: 0 });
  await page.getByLabel("Job id").fill(id);
  await page.getByText(/done in attempt 1/).waitFor();
  await page.getByRole("link", { name: new RegExp(`${id} done`) }).click();
  await page.getByText("A job of reminders").waitFor();
});

test("a job is found by the beginning of its id, in upper or lower case, and not by its key", async () => {
  const page = await browser.open("/console/live");
  const { id } = await api.enqueue("reminders", { text: "found" }, { delay: 0, key: "live-key" });
  const field = page.getByLabel("Job id");
  await field.fill(id.slice(0, 20).toLowerCase());
  await page.getByText(`${id}  enqueued`).waitFor();
  await field.fill(id);
  const isCut = await field.evaluate((element) => element.scrollWidth > element.clientWidth);
  expect(isCut).toBe(false);
  await field.fill("live-key");
  await page.getByText(/^No line matches\. .* They name jobs by their ids, not by their keys\.$/).waitFor();
});

test("times are in the chosen zone", async () => {
  const page = await browser.open("/console/live", { timezoneId: "Asia/Kathmandu" });
  const { id } = await api.enqueue("reminders", { text: "zone" }, { delay: 0 });
  await page.getByLabel("Job id").fill(id);
  const line = page.getByText(new RegExp(`${id} {2}enqueued, due`));
  await line.waitFor();
  const minute = async () => Number(/^\d\d:(\d\d):/.exec((await line.textContent()) ?? "")?.[1]);
  const there = await minute();
  await page.getByText("The times are GMT+5:45.").waitFor();
  await page.getByLabel("Time zone").selectOption("UTC");
  await page.getByText("The times are UTC.").waitFor();
  expect(await minute()).toBe((there + 15) % 60);
});

test("while lines are held, no line is added, and then the missing lines appear", async () => {
  const page = await browser.open("/console/live?topic=reminders");
  await page.getByRole("button", { name: "Hold the lines still" }).click();
  const { id } = await api.enqueue("reminders", { text: "held" }, { delay: 0 });
  const goOn = page.getByRole("button", { name: /^Go on \([1-9]\d* new lines\)$/ });
  await goOn.waitFor();
  await page.getByText(`${id}  enqueued`).waitFor({ state: "detached" });
  await goOn.click();
  await page.getByText(new RegExp(`${id} {2}enqueued`)).waitFor();
});
