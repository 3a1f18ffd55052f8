import { expect, test } from "vitest";
import { testBrowser } from "./browser.ts";
import { ownStack } from "./own-stack.ts";
import { openTopicMenu, topicRow } from "./topic-row.ts";

const browser = testBrowser();
const own = ownStack();

test("a stack that goes away leaves what was read, and one that comes back is shown again", async () => {
  let stack = await own.start();
  const port = Number(new URL(stack.url).port);
  const page = await browser.open("/console", { base: stack.url, ignoresFailedCalls: true });
  await page.getByText("What needs you").waitFor();
  const live = await browser.open("/console/live", { base: stack.url, ignoresFailedCalls: true });
  await live.getByRole("heading", { name: "Live" }).waitFor();

  // The page loads the other views a moment after the first one.
  await page.waitForFunction(() => performance.now() > 3000);
  await page.waitForLoadState("networkidle");
  await stack.kill("SIGTERM");
  const silent = `GET /topics: the server of this console, ${stack.url}, does not answer.`;
  await page
    .getByText(
      `Since then the topics could not be read: ${silent} Look whether \`minutehand local\` still runs`,
    )
    .waitFor();
  await topicRow(page, "work").waitFor();
  await live.getByText("The local stack does not answer.").waitFor();
  // An action that gets no answer says so, and the dialog stays.
  await openTopicMenu(page, "work");
  await page.getByRole("button", { name: "Pause work …" }).click();
  await page.getByRole("button", { name: "Pause the topic" }).click();
  await page.getByRole("dialog").getByText("unavailable").waitFor();
  await page.keyboard.press("Escape");

  // A log that cannot be read is not empty.
  await page.getByRole("link", { name: "Live" }).click();
  await page.getByText("The local stack does not answer.").waitFor();
  expect(await page.getByText("Nothing has happened yet.").count()).toBe(0);
  await page.getByRole("link", { name: "Overview" }).click();

  stack = await own.start(port);
  await page.getByText("Since then the topics could not be read").waitFor({ state: "hidden" });
  await live.getByText("The local stack does not answer.").waitFor({ state: "hidden" });
  expect(await page.getByRole("heading", { name: "Overview" }).count()).toBe(1);
});
