import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { PATIENCE_MS } from "../patience.ts";
import { CHROMIUM } from "./chromium.ts";
import { stackUrl } from "./stack-url.ts";

type OpenOptions = BrowserContextOptions & {
  readonly base?: string;
  /** Whether calls may fail, because the test stops the stack. The browser logs each of them. */
  readonly ignoresFailedCalls?: boolean;
};

export type TestBrowser = {
  /** Opens a view of the console in a new context, so that no test sees what another test has stored. */
  readonly open: (path: string, options?: OpenOptions) => Promise<Page>;
};

/**
 * Closes the pages after each test, which fails if a page has logged an error, broken the content security policy, or asked another host
 * than its own.
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
    async open(path, { base = stackUrl, ignoresFailedCalls = false, ...options } = {}) {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
      close.push(() => context.close());
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
      page.on("console", (message) => {
        // The browser itself logs each answer with the status of an error. Views show such answers, so tests look for them there.
        const isAnswer = message.text().startsWith("Failed to load resource");
        const isExpected = isAnswer || (ignoresFailedCalls && message.text().includes("net::ERR_"));
        if (message.type() === "error" && !isExpected) troubles.push(`console: ${message.text()}`);
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
