import { afterAll, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { freshDataDir, type RunningStack, removeDataDir, startStack } from "../e2e/running-stack.ts";
import { testBrowser } from "./browser.ts";

const browser = testBrowser();
const dataDir = freshDataDir();
let stack: RunningStack | undefined;
afterAll(async () => {
  await stack?.kill("SIGTERM");
  removeDataDir(dataDir);
});

test("the clock of the local stack is moved to the next job, which then runs, and the page shows the stack's time", async () => {
  stack = await startStack(dataDir);
  const api = createClient({ url: stack.url });
  const { id, dueAt } = await api.enqueue("reminders", { text: "later" }, { delay: "2h" });
  const page = await browser.open(`/console/jobs/${id}`, { base: stack.url });
  await page.getByRole("button", { name: "Clock", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Clock of the local stack" });
  await dialog.getByRole("button", { name: "+1 hour" }).click();
  await dialog.getByText(/, this machine's clock \+1h$/).waitFor();
  expect((await api.get(id)).state).toBe("scheduled");
  await dialog.getByRole("button", { name: "To the next job" }).click();
  await dialog.getByText(/, this machine's clock \+(1h 59m|2h)/).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("heading", { name: /done$/ }).waitFor();
  // The run was minutes ago or less, and not in two hours.
  await page
    .getByText(/^(now|\d+ s ago|1 min ago)$/)
    .first()
    .waitFor();
  const { timeline } = await api.get(id);
  const started = timeline.find(({ event }) => event === "claimed");
  expect(Date.parse(started?.at ?? "")).toBeGreaterThanOrEqual(Date.parse(dueAt));
  await page.getByRole("button", { name: /^Clock \+/ }).click();
  await dialog.getByRole("button", { name: "To the next job" }).click();
  await page.getByText("The clock was not moved: no job waits.").waitFor();
});
