import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type Axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";

/** The path of Debian's Chromium. `MINUTEHAND_CHROMIUM` names another Chromium. */
export const CHROMIUM = process.env.MINUTEHAND_CHROMIUM ?? "/usr/bin/chromium";
/** How long a page may take until an element is there, ms. A busy machine draws slowly. */
const PATIENCE_MS = 20_000;

/** The widths of a telephone, a tablet and a desk, px. */
export const WIDTHS = [360, 768, 1440] as const;
export const SCHEMES = ["light", "dark"] as const;

/** The rules of WCAG 2.2, levels A and AA. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Expects that axe-core finds nothing on the page that breaks WCAG 2.2 AA. */
export async function expectAccessible(page: Page): Promise<void> {
  expect(await barriersOn(page)).toEqual([]);
}

/** What axe-core finds on the page, a line for each element. */
export async function barriersOn(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async (rules) => {
    const { axe } = globalThis as unknown as { axe: typeof Axe };
    const { violations } = await axe.run({ runOnly: rules });
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target}: ${failureSummary}`),
    );
  }, RULES);
}

/** Opens pages in a browser that the tests of a file share. */
export type TestBrowser = {
  /** Opens a view of the console in a new context, so that no test sees what another test has stored. */
  readonly open: (path: string, options?: BrowserContextOptions & { base?: string }) => Promise<Page>;
};

/**
 * Starts a browser before the tests of a file, and closes it after them. After each test, it closes the pages of the test, and the test fails if
 * a page has logged an error, broken the content security policy, or asked another host than its own.
 */
export function testBrowser(): TestBrowser {
  let browser: Browser;
  let troubles: string[] = [];
  let close: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    // Debian's Chromium has no sandbox for root, and the tests open only pages of their own.
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    const [found, opened] = [troubles, close];
    [troubles, close] = [[], []];
    for (const one of opened) await one();
    expect(found).toEqual([]);
  });

  return {
    async open(path, { base = inject("stackUrl"), ...options } = {}) {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
      close.push(() => context.close());
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
      page.on("console", (message) => {
        // The browser itself logs each answer with the status of an error. Views show such answers, so tests look for them there.
        const isAnswer = message.text().startsWith("Failed to load resource");
        if (message.type() === "error" && !isAnswer) troubles.push(`console: ${message.text()}`);
      });
      page.on("request", (request) => {
        const { origin, protocol } = new URL(request.url());
        if (origin !== new URL(base).origin && protocol !== "data:") troubles.push(`asked ${request.url()}`);
      });
      await page.goto(`${base}${path}`);
      return page;
    },
  };
}
