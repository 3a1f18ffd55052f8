import type { Locator, Page } from "playwright-core";

/** The line of a topic in the overview's table. */
export function topicRow(page: Page, topic: string): Locator {
  return page.getByRole("row").filter({ has: page.getByRole("link", { name: topic, exact: true }) });
}

/** Opens the menu of a topic in the overview. */
export async function openTopicMenu(page: Page, topic: string): Promise<void> {
  await page.getByRole("button", { name: `Actions of ${topic}`, exact: true }).click();
}
