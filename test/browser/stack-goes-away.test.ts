import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../client/client.ts";
import { freshDataDir, type RunningStack, removeDataDir, startStack } from "../e2e/running-stack.ts";
import { testBrowser } from "./browser.ts";

const browser = testBrowser();

const dataDir = freshDataDir();
let stack: RunningStack;
beforeAll(async () => {
  stack = await startStack(dataDir);
});
afterAll(async () => {
  await stack.kill("SIGTERM");
  removeDataDir(dataDir);
});

test("a page shows what it has read while its stack is away, says since when, and goes on when the stack is back", async () => {
  const api = createClient({ url: stack.url });
  await api.enqueue("work", {}, { delay: "30m", key: "before", tag: "away" });
  const page = await browser.open("/console/jobs?tag=away", { base: stack.url });
  await page.getByText("before", { exact: true }).waitFor();
  const opened = await browser.open("/console", { base: stack.url });
  await opened.getByText("What needs you").waitFor();

  const { port } = new URL(stack.url);
  await stack.kill("SIGTERM");
  await page
    .getByText(/^This is from .* ago.* Since then the jobs could not be read: no answer to GET \/jobs/)
    .waitFor();
  await page.getByText("before", { exact: true }).waitFor();
  await opened.getByText(/Since then the topics could not be read/).waitFor();
  await opened.getByText("What needs you").waitFor();

  // A view that has read nothing yet has nothing to show, and says why.
  await page.keyboard.press("/");
  await page.keyboard.type("another");
  await page.keyboard.press("Enter");
  await page
    .getByRole("alert")
    .filter({ hasText: "Cannot read the job. unavailable no answer to GET" })
    .waitFor();
  await page.goBack();

  stack = await startStack(dataDir, Number(port));
  await page.getByText("Since then").waitFor({ state: "hidden" });
  await page.getByText("before", { exact: true }).waitFor();
  await createClient({ url: stack.url }).enqueue("work", {}, { delay: "31m", key: "after", tag: "away" });
  await page.getByText("after", { exact: true }).waitFor();
  await opened.getByText("Since then").waitFor({ state: "hidden" });
  expect(await opened.getByRole("alert").count()).toBe(0);
});
