import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type About, ASK } from "../../console/about.ts";
import { readPageFiles } from "../../console/page-files.ts";
import { consolePages } from "../../console/pages.ts";
import { openProxy } from "../../console/proxy.ts";
import { createClient } from "../../src/client/client.ts";
import { expectAccessible } from "./accessible.ts";
import { testBrowser } from "./browser.ts";
import { stackUrl } from "./stack-url.ts";

const KEY = "a-key-of-this-test";
const browser = testBrowser();

/** Serves the console of another machine's queue, as `minutehand console` does. */
async function serve(given: Partial<About> = {}) {
  const url = stackUrl;
  const about: About = { queue: "Shop", url, auth: "none", hasLive: false, ...given };
  const options = {
    pages: consolePages(await readPageFiles(), ASK),
    about,
    host: "minutehand-of-this-test.localhost",
    url,
    authorize: async ({ headers }: { headers: Headers }) => headers,
    key: KEY,
    port: 0,
  };
  const proxy = await openProxy(options);
  stops.push(proxy.stop);
  return proxy.address;
}

const stops: (() => Promise<void>)[] = [];
let base: string;
beforeAll(async () => {
  base = await serve();
});
afterAll(async () => {
  for (const stop of stops) await stop();
});

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
    await page
      .getByText(/jobs? due in the next hour/)
      .first()
      .waitFor();
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

describe("a console that was started with --view-only", () => {
  test("shows everything, says that it is view only, and has no action", async () => {
    const api = createClient({ url: stackUrl });
    const { id } = await api.enqueue("work", {}, { delay: "40m", key: "view-only" });
    const viewed = await serve({ isViewOnly: true });
    const page = await browser.open(`/console/jobs/${id}#key=${KEY}`, { base: viewed });
    await page.getByText("view only", { exact: true }).waitFor();
    const cancel = page.getByRole("button", { name: "Cancel …" });
    expect(await cancel.getAttribute("aria-disabled")).toBe("true");
    await cancel.press("Enter");
    await page.getByText("Cancel: this console is view only, and changes nothing.").waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    for (const view of ["", "/jobs?topic=work", "/schedules", "/enqueue?topic=work"]) {
      await page.goto(`${viewed}/console${view}`);
      await page.getByText("view only", { exact: true }).waitFor();
      await page.waitForLoadState("networkidle");
      const possible = await page
        .getByRole("main")
        .getByRole("button", { name: / …$/ })
        .evaluateAll((all) => all.filter((one) => one.ariaDisabled !== "true").map((one) => one.textContent));
      expect(possible).toEqual([]);
      await expectAccessible(page);
    }
    await page.getByText("Not possible: this console is view only, and changes nothing.").waitFor();
    expect(await page.getByRole("button", { name: "Enqueue the job" }).isDisabled()).toBe(true);
    expect((await api.get(id)).state).toBe("scheduled");
  });

  test("refuses a change that a page sends all the same", async () => {
    const page = await browser.open(`/console#key=${KEY}`, { base: await serve({ isViewOnly: true }) });
    await page.getByText("view only", { exact: true }).waitFor();
    const answered = await page.evaluate(async (key) => {
      const headers = { "x-minutehand-key": key };
      const response = await fetch("/topics/work/pause", { method: "POST", headers });
      return { status: response.status, ...((await response.json()) as object) };
    }, KEY);
    expect(answered).toMatchObject({ status: 403, code: "forbidden" });
  });
});
