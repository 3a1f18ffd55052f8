import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { testBrowser } from "./browser.ts";
import { stackUrl } from "./stack-url.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });

test("a job is filed as the form says, and the page leads to it", async () => {
  const opened = Date.now();
  const page = await browser.open("/console/enqueue?topic=work");
  await page.getByLabel("Due").fill("in 30 minutes");
  await page.getByLabel("Key (optional)").fill("enqueue-1");
  await page.getByLabel("Body (JSON)").fill('{"orderId": 17}');
  await page.getByText("Options:").click();
  await page.getByLabel("Tag").fill("spring sale");
  await page.getByLabel("Headers").fill("x-shop: 17\nx-time: 9:00");
  await page.getByRole("button", { name: "Enqueue the job" }).click();
  await page.getByRole("link", { name: "enqueue-1" }).click();
  await page.getByRole("heading", { name: /^enqueue-1 / }).waitFor();
  await page.getByText("spring sale").waitFor();
  const job = await api.get({ topic: "work", key: "enqueue-1" });
  expect(job).toMatchObject({
    body: { orderId: 17 },
    tag: "spring sale",
    headers: { "x-shop": "17", "x-time": "9:00" },
  });
  const filedAt = Date.parse(job.dueAt) - 1_800_000;
  expect(filedAt).toBeGreaterThan(opened - 1000);
  expect(filedAt).toBeLessThanOrEqual(Date.now());
});

test("the curl command that the page shows files the same job", async () => {
  const page = await browser.open("/console/enqueue?topic=work");
  await page.getByLabel("Key (optional)").fill("enqueue-curl");
  await page.getByLabel("Body (JSON)").fill(`{"text": "it's $HOME"}`);
  const region = page.getByRole("region", { name: "Text of the curl command" });
  await expect.poll(() => region.textContent()).toContain("enqueue-curl");
  const command = await region.textContent();
  execFileSync("sh", ["-c", `${command} --fail --silent --output /dev/null`]);
  expect((await api.get({ topic: "work", key: "enqueue-curl" })).body).toEqual({ text: "it's $HOME" });
});

test("a key that has a live job shows the API's error, and then the form can replace the job", async () => {
  await api.enqueue("work", { first: true }, { delay: "1h", key: "enqueue-twice" });
  const page = await browser.open("/console/enqueue?topic=work");
  await page.getByLabel("Key (optional)").fill("enqueue-twice");
  await page.getByRole("button", { name: "Enqueue the job" }).click();
  const alert = page.getByRole("alert");
  await alert.getByText("job-already-exists").waitFor();
  const { id } = await api.get({ topic: "work", key: "enqueue-twice" });
  expect(await alert.getByRole("link", { name: "Show this job" }).getAttribute("href")).toBe(
    `/console/jobs/${id}`,
  );
  await page.getByLabel("If a live job has this key").selectOption({ label: "replace the live job" });
  await page.getByRole("button", { name: "Enqueue the job" }).click();
  await page.getByText("Replaced the live job").waitFor();
});

test("a wrong option is named by the API", async () => {
  const page = await browser.open("/console/enqueue?topic=work");
  await page.getByText("Options:").click();
  await page.getByLabel("Max attempts").fill("0");
  await page.getByRole("button", { name: "Enqueue the job" }).click();
  await page.getByRole("alert").getByText("maxAttempts must be").first().waitFor();
});

test("nothing can be filed or copied while the time or the body is wrong, and the page says which is wrong", async () => {
  const page = await browser.open("/console/enqueue?topic=work");
  const button = page.getByRole("button", { name: "Enqueue the job" });
  const colours = () =>
    button.evaluate((element) => [
      getComputedStyle(element).color,
      getComputedStyle(element).backgroundColor,
    ]);
  const enabled = await colours();
  await page.getByLabel("Due").fill("when pigs fly");
  await expect.poll(() => button.isDisabled()).toBe(true);
  await page.getByText("Mend the time first.").waitFor();
  expect(await page.getByRole("button", { name: "Copy the curl command" }).isDisabled()).toBe(true);
  // A disabled button does not look like an enabled one.
  const [colour, back] = await colours();
  expect(colour).not.toBe(enabled[0]);
  expect(back).not.toBe(enabled[1]);
  await page.getByLabel("Due").fill("tomorrow 9:00");
  await expect.poll(() => button.isDisabled()).toBe(false);
  await page.getByLabel("Body (JSON)").fill("{");
  await expect.poll(() => button.isDisabled()).toBe(true);
  await page.getByText("Mend the body first.").waitFor();
});
