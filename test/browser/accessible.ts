import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** The rules of WCAG 2.2, levels A and AA. */
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

export async function expectAccessible(page: Page): Promise<void> {
  // The page's policy forbids scripts of others, also this one, unless the browser's debugger runs it.
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async (tags) => {
    const found = await (window as unknown as { axe: typeof axe }).axe.run(document, { runOnly: tags });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
  }, TAGS);
  expect(violations.join("\n")).toBe("");
}

/** Throws an error if the page is wider than its window. Waits first, because the page learns a new width when the browser draws. */
export async function expectNoOverflow(page: Page): Promise<void> {
  const [width, shown] = await page.evaluate(async () => {
    const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    await nextFrame();
    await nextFrame();
    return [document.documentElement.scrollWidth, window.innerWidth];
  });
  expect(width).toBeLessThanOrEqual(shown ?? 0);
}
