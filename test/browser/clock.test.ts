import { expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { testBrowser } from "./browser.ts";
import { ownStack } from "./own-stack.ts";

const browser = testBrowser();
const own = ownStack();

test("the clock of the local stack is moved to the next job, which then runs, and the page shows the stack's time", async () => {
  const stack = await own.start();
  const api = createClient({ url: stack.url });
  const { id, dueAt } = await api.enqueue("reminders", { text: "later" }, { delay: "2h" });
  const page = await browser.open(`/console/jobs/${id}`, { base: stack.url });
  await page.getByRole("button", { name: "Clock", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Clock of the local stack" });
  await dialog.getByRole("button", { name: "+1 hour" }).click();
  // A move takes a while, and ends an hour after the moment at which it was asked for.
  await dialog.getByText(/, this machine's clock \+(59m|1h)/).waitFor();
  expect((await api.get(id)).state).toBe("scheduled");
  await dialog.getByRole("button", { name: "To the next job" }).click();
  await dialog.getByText(/, this machine's clock \+(1h \d+m|2h)/).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("heading", { name: /done$/ }).waitFor();
  // By the machine's clock the job was filed seconds ago, and by the stack's clock two hours ago.
  await page
    .getByText(/^(1 h \d+ min|2 h) ago$/)
    .first()
    .waitFor();
  const { timeline } = await api.get(id);
  const started = timeline.find(({ event }) => event === "claimed");
  expect(Date.parse(started?.at ?? "")).toBeGreaterThanOrEqual(Date.parse(dueAt));
  await page.getByRole("button", { name: /^Clock \+/ }).click();
  await dialog.getByRole("button", { name: "To the next job" }).click();
  await page.getByText("The clock was not moved: no job waits.").waitFor();
});
