import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type About, ASK } from "../../console/about.ts";
import { readPageFiles } from "../../console/page-files.ts";
import { consolePages } from "../../console/pages.ts";
import { openProxy } from "../../console/proxy.ts";
import { expectAccessible } from "./accessible.ts";
import { testBrowser } from "./browser.ts";

const KEY = "a-key-of-this-test";
const browser = testBrowser();

/** The console of another machine's queue, as `minutehand console` serves it. */
let base: string;
let stop: () => Promise<void>;
beforeAll(async () => {
  const url = inject("stackUrl");
  const about: About = { queue: "Shop", url, auth: "none", hasLive: false };
  const options = {
    pages: consolePages(await readPageFiles(), ASK),
    about,
    host: "minutehand-of-this-test.localhost",
    url,
    authorize: async ({ headers }: { headers: Headers }) => headers,
    key: KEY,
    port: 0,
  };
  ({ address: base, stop } = await openProxy(options));
});
afterAll(() => stop?.());

const ASKS = { name: "This page may not call the API yet" };

describe("the key of minutehand console", () => {
  test("opens the page, and then stands neither in the address nor in a request", async () => {
    const page = await browser.open("/console", { base });
    await page.getByRole("heading", ASKS).waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(`${request.url()} ${request.headers().referer ?? ""}`));
    // Another path, because a browser only scrolls when the part after the # alone changes.
    await page.goto(`${base}/console/jobs#key=${KEY}`);
    await page.getByRole("heading", { name: "Jobs", exact: true }).waitFor();
    await page.getByText(/jobs? due in the next hour/).waitFor();
    expect(page.url()).toBe(`${base}/console/jobs`);
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.filter((text) => text.includes(KEY))).toEqual([]);
    await page.goto(`${base}/console`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await expect.poll(() => page.title()).toBe("Overview · Shop · Minutehand");
  });

  test.each([
    ["is missing", "/console/jobs"],
    ["is an old one", "/console/jobs#key=old"],
  ])("%s: the page says what to do, on each view, and calls nothing on its own", async (_, path) => {
    const page = await browser.open(path, { base });
    await page.getByRole("heading", ASKS).waitFor();
    await page.getByText("Open the whole address that it has printed").waitFor();
    await expect.poll(() => page.title()).toBe("This page may not call the API yet · Minutehand");
    expect(await page.content()).not.toContain("Shop");
    await expectAccessible(page);
    const calls: string[] = [];
    page.on("request", (request) => calls.push(request.url()));
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("heading", ASKS).waitFor();
    await page.keyboard.press("r");
    expect(calls).toEqual([]);
  });

  test("comes to a page that waits for it when another tab gets it", async () => {
    const waiting = await browser.open("/console", { base });
    await waiting.getByRole("heading", ASKS).waitFor();
    const opened = await waiting.context().newPage();
    await opened.goto(`${base}/console#key=${KEY}`);
    await opened.getByRole("heading", { name: "Overview" }).waitFor();
    await waiting.getByRole("heading", { name: "Overview" }).waitFor();
  });
});
