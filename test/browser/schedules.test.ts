import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { expectAccessible, expectNoOverflow } from "./accessible.ts";
import { testBrowser } from "./browser.ts";
import { stackUrl } from "./stack-url.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });

test("a schedule is created, paused, resumed, run, edited and deleted", async () => {
  const page = await browser.open("/console/schedules");
  const dialog = page.getByRole("dialog");
  await createSchedule(page);
  await pauseAndResume(page);

  await page.getByRole("button", { name: "Edit …" }).click();
  await dialog.getByLabel("Expression").fill("rate(2 hours)");
  await dialog.getByRole("button", { name: "Save the schedule" }).click();
  await page.getByText("Every 2 hours.").waitFor();

  await page.getByRole("button", { name: "Run now …" }).click();
  await dialog.getByRole("button", { name: "File a job now" }).click();
  await page.getByRole("link", { name: "Show the job" }).click();
  await page.getByText("A job of work, due").waitFor();

  await page.goBack();
  await page.getByRole("button", { name: "Delete …" }).click();
  await dialog.getByRole("button", { name: "Delete the schedule" }).click();
  await page.getByText("Deleted made-here.").waitFor();
  await expect(api.schedule("made-here")).rejects.toMatchObject({ code: "schedule-not-found" });
});

async function createSchedule(page: Page): Promise<void> {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "New schedule …" }).click();
  await dialog.getByRole("textbox", { name: "Name" }).fill("made-here");
  await dialog.getByLabel("Expression").fill("cron(0 9 * * * *)");
  await dialog.getByText("expression must").waitFor();
  expect(await dialog.getByRole("button", { name: "Create the schedule" }).isDisabled()).toBe(true);
  await dialog.getByLabel("Expression").fill("cron(0 9 ? * MON-FRI *)");
  await dialog.getByLabel("Time zone").selectOption("Europe/Berlin");
  await dialog.getByText("At 09:00, Monday through Friday, Europe/Berlin").waitFor();
  await dialog.getByRole("combobox", { name: "Topic" }).selectOption("work");
  await dialog.getByRole("button", { name: "Create the schedule" }).click();
  await page.getByRole("link", { name: "Show the schedule" }).click();
  await page.getByRole("heading", { name: "made-here" }).waitFor();
}

async function pauseAndResume(page: Page): Promise<void> {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Pause …" }).click();
  await dialog.getByRole("button", { name: "Pause the schedule" }).click();
  await page.getByText("Paused made-here.").waitFor();
  await page.getByText("None while the schedule is paused.").waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByRole("link", { name: "The schedule made-here is paused" }).click();
  await page.getByRole("button", { name: "Resume …" }).waitFor();
  expect(await page.getByText("Paused made-here.").count()).toBe(0);
  expect((await api.schedule("made-here")).paused).toBe(true);
  await page.getByRole("button", { name: "Resume …" }).click();
  await dialog.getByRole("button", { name: "Resume the schedule" }).click();
  await page.getByText("Resumed made-here.").waitFor();
}

test("on a phone each schedule is a card with its seven days, and nothing is cut", async () => {
  const name = "a-schedule-on-a-phone";
  await api.putSchedule(name, { expression: "rate(8 hours)", topic: "work", body: {} });
  const page = await browser.open("/console/schedules", { viewport: { width: 390, height: 844 } });
  const card = page.getByRole("listitem", { name });
  await card.getByText("Every 8 hours, for work").waitFor();
  await card.getByText(/^Next: /).waitFor();
  const days = card.locator("dd");
  expect(await days.count()).toBe(7);
  expect(await days.nth(2).textContent()).toBe("3");
  for (const day of await days.all())
    expect(await day.boundingBox()).toMatchObject({ x: expect.toSatisfy((x: number) => x < 390) });
  await expectNoOverflow(page);
  await expectAccessible(page);
});

test("the list of jobs names the schedules that will file more jobs in its range", async () => {
  const file = (name: string, expression: string) =>
    api.putSchedule(name, { expression, topic: "reminders", body: {} });
  await file("ahead-hourly", "rate(1 hour)");
  await file("ahead-in-2040", "cron(30 8 1 1 ? 2040)");
  await file("ahead-paused", "rate(1 hour)");
  await api.pauseSchedule("ahead-paused");
  const page = await browser.open("/console/jobs?topic=reminders", { timezoneId: "UTC" });
  await page.getByRole("button", { name: "tomorrow", exact: true }).click();
  await page.getByText("And 1 schedule will file more jobs in this range: ahead-hourly.").waitFor();
  await page.getByRole("combobox", { name: "State" }).selectOption("cancelled");
  await page.getByText("will file more jobs").waitFor({ state: "hidden" });
  await page.goto(
    `${stackUrl}/console/jobs?topic=reminders&from=2040-01-01T00:00:00Z&to=2040-01-02T00:00:00Z`,
  );
  await page.getByText("And 2 schedules will file more jobs in this range:").waitFor();
  await page.getByRole("link", { name: "ahead-in-2040" }).click();
  await page.getByRole("heading", { name: "ahead-in-2040" }).waitFor();
});

test("the first five times that the form shows are those that the API answers", async () => {
  const page = await browser.open("/console/schedules");
  await page.getByLabel("Time zone").selectOption("UTC");
  await page.getByRole("button", { name: "New schedule …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Name" }).fill("same-times");
  await dialog.getByLabel("Expression").fill("cron(30 8 L * ? *)");
  const shown = dialog.getByRole("listitem").locator("time");
  await expect.poll(() => shown.count()).toBe(5);
  const times = await shown.evaluateAll((all) => all.map((one) => (one as HTMLTimeElement).dateTime));
  const zone = await dialog.getByLabel("Time zone").inputValue();
  const { next } = await api.putSchedule("same-times", {
    ...{ expression: "cron(30 8 L * ? *)", timezone: zone, topic: "work", body: {} },
  });
  expect(times).toEqual(next);
});

test("a page in another zone shows that zone's days, and each schedule's own time beside it", async () => {
  await api.putSchedule("own-zone", {
    ...{ expression: "cron(30 8 * * ? *)", timezone: "Europe/Berlin", topic: "work", body: {} },
  });
  const page = await browser.open("/console/schedules/own-zone", { timezoneId: "Europe/Berlin" });
  await page
    .getByText(/^08:30:00 CES?T|, 08:30:00 CES?T/)
    .first()
    .waitFor();
  expect(await page.getByText("in Europe/Berlin").count()).toBe(0);
  await page.getByLabel("Time zone").selectOption("Asia/Kolkata");
  await page
    .getByText(/1[23]:00:00 GMT\+5:30/)
    .first()
    .waitFor();
  await page
    .getByText(/08:30:00 CES?T in Europe\/Berlin$/)
    .first()
    .waitFor();
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  await page.getByRole("button", { name: "tomorrow", exact: true }).click();
  const from = new URL(page.url()).searchParams.get("from");
  // Midnight in India.
  expect(from).toMatch(/T18:30:00/);
});
