import type { Page } from "playwright-core";

/** Opens the folded field of the open dialog, which then has the focus, and fills it with the keyboard alone. */
export async function giveReason(page: Page, reason: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Add a reason").press("Enter");
  await page.waitForFunction(() => document.activeElement?.matches("dialog input"));
  await page.keyboard.type(reason);
}
