import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectAccessible, expectNoOverflow } from "./accessible.ts";
import { testBrowser } from "./browser.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
};
const PAGE = "/reference/calculator.html";

const browser = testBrowser();
const site = mkdtempSync(join(tmpdir(), "minutehand-site-"));
const server = createServer(({ url = "/" }, answer) => {
  const { pathname } = new URL(url, "http://localhost");
  try {
    const content = readFileSync(join(site, pathname));
    answer.setHeader("content-type", TYPES[extname(pathname)] ?? "application/octet-stream").end(content);
  } catch {
    answer.writeHead(404).end();
  }
});
let base = "";

beforeAll(async () => {
  const vitepress = join(ROOT, "node_modules", "vitepress", "bin", "vitepress.js");
  // Vitest's NODE_ENV is "test", with which VitePress would build a page for development.
  const env = { ...process.env, NODE_ENV: "production" };
  execFileSync(process.execPath, [vitepress, "build", "tools/site", "--outDir", site, "--base", "/"], {
    cwd: ROOT,
    env,
    stdio: "pipe",
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

test("a reader's numbers change the total and the address, and whoever opens the address sees the same", async () => {
  const page = await browser.open(PAGE, { base });
  await page.getByRole("status").getByText("for a million jobs").waitFor();
  await page.getByLabel("Jobs a month").fill("2,000,000");
  await page.getByLabel("Kind of job").selectOption({ label: "Tracked, with a key" });
  await page.getByLabel("Who runs them").selectOption({ label: "Workers that pull over HTTP" });
  await page.getByLabel("Workers that always wait for jobs").fill("2");
  const total = await page.getByRole("status").textContent();
  expect(total).toMatch(/Minutehand costs \$\d+\.\d\d a month, or \$\d+\.\d\d for a million jobs/);
  expect(new URL(page.url()).search).toBe("?jobs=2%2C000%2C000&kind=keyed&consumer=pull&workers=2");
  const other = await browser.open(new URL(page.url()).href.slice(base.length), { base });
  await other.getByLabel("Workers that always wait for jobs").waitFor();
  expect(await other.getByLabel("Jobs a month").inputValue()).toBe("2,000,000");
  expect(await other.getByRole("status").textContent()).toBe(total);
});

test("a wrong number is named beside its field, and no total is shown", async () => {
  const page = await browser.open(`${PAGE}?delay=soon`, { base });
  await page.getByText('must be a duration such as 30m, 2h or 9d, up to 3660d, got "soon"').waitFor();
  expect(await page.getByLabel("Time from filing").getAttribute("aria-invalid")).toBe("true");
  expect(await page.getByRole("status").textContent()).not.toContain("$");
  await page.getByLabel("Time from filing").fill("10m");
  await page.getByRole("status").getByText("$").first().waitFor();
});

test.each(["light", "dark"] as const)(
  "the page is accessible and fits at each width, in %s",
  async (colorScheme) => {
    const page = await browser.open(`${PAGE}?jobs=100000000&arrival=evenly&topics=none`, {
      base,
      colorScheme,
    });
    await page.getByText("Topics must be").waitFor();
    await expectAccessible(page);
    await page.getByLabel("Topics", { exact: true }).fill("3");
    await page.getByText("EventBridge Scheduler", { exact: true }).waitFor();
    for (const width of [1440, 360]) {
      await page.setViewportSize({ width, height: 900 });
      await expectNoOverflow(page);
      await expectAccessible(page);
    }
  },
);

test("without JavaScript the page says that it needs JavaScript", async () => {
  const page = await browser.open(PAGE, { base, javaScriptEnabled: false });
  await page.getByText("The form needs JavaScript.").waitFor();
});

test("on a phone each cell of a table is within the page, with the head of its column", async () => {
  const page = await browser.open("/reference/errors.html", {
    base,
    viewport: { width: 360, height: 760 },
  });
  await page.getByText("No topic of this name is deployed.").waitFor();
  await expectNoOverflow(page);
  const cells = await page.locator(".vp-doc td").evaluateAll((all) =>
    all.map((cell) => ({
      right: cell.getBoundingClientRect().right,
      head: getComputedStyle(cell, "::before").content,
    })),
  );
  expect(Math.max(...cells.map(({ right }) => right))).toBeLessThanOrEqual(360);
  expect(cells.slice(0, 3).map(({ head }) => head)).toEqual(["none", '"status"', '"meaning"']);
});

test.each([
  ["unknown-topic", "/reference/errors.html#unknown-topic"],
  ["maxFiledPerChain", "/reference/configuration.html#maxfiledperchain"],
])("the search for %s leads to its row first", async (text, path) => {
  const page = await browser.open("/start.html", { base });
  await page.getByRole("button", { name: "Search" }).first().click();
  await page.getByRole("searchbox").fill(text);
  const first = page.locator(".results a").first();
  await first.waitFor();
  expect(await first.getAttribute("href")).toBe(path);
  await first.click();
  const row = page.locator(`tr[id="${path.split("#")[1]}"]`);
  expect(await row.locator("code").first().textContent()).toBe(text);
});

test("the sidebar opens the section of the page, and marks the page", async () => {
  const page = await browser.open("/internals/decisions/keys.html", { base });
  const sidebar = page.getByRole("navigation", { name: "Sidebar" });
  await sidebar.getByText("One transaction files a key").waitFor();
  expect(await sidebar.locator(".is-link.is-active .text").allTextContents()).toEqual([
    expect.stringMatching(/^One transaction files a key/),
  ]);
  expect(await sidebar.getByText("Crash table").isVisible()).toBe(true);
  expect(await sidebar.getByText("Webhooks", { exact: true }).isVisible()).toBe(false);
});
