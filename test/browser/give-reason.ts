import type { Page } from "playwright-core";

/** Opens the folded field of the open dialog, and fills it with the keyboard alone. */
export async function giveReason(page: Page, reason: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Add a reason").press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.type(reason);
}
