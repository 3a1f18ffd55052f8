import type { Page } from "playwright-core";
import { beforeAll, describe, expect, inject, test, vi } from "vitest";
import { createClient } from "../../client/client.ts";
import { barriersOn, expectAccessible, SCHEMES, testBrowser, WIDTHS } from "./browser.ts";

const browser = testBrowser();
const api = createClient({ url: inject("stackUrl") });

/** Texts that are code elsewhere, or that have no place to break. */
const HOSTILE = `<img src=x onerror="alert(1)"></script>{{7*7}}${"W".repeat(180)}`;
const LONG_KEY = `every-view-${"0123456789".repeat(20)}`;

/** How long the running job runs, ms. The tests of its view come first, so that it still runs then. */
const RUNS_MS = 50_000;

const ids = { done: "", dead: "", waiting: "", running: "" };
beforeAll(async () => {
  const once = { delay: 0, maxAttempts: 1, tag: HOSTILE.slice(0, 60), group: "every-view" } as const;
  const jobs = await Promise.all([
    api.enqueue("reminders", { text: HOSTILE }, once),
    api.enqueue("reminders", { fails: HOSTILE, text: HOSTILE.repeat(500) }, { ...once, key: LONG_KEY }),
    api.enqueue(
      "work",
      { text: HOSTILE },
      { delay: "30m", tag: HOSTILE.slice(0, 60), key: `${LONG_KEY}-waiting` },
    ),
    api.enqueue("reminders", { takes: RUNS_MS }, { ...once, key: "every-view-running" }),
  ]);
  const [done, dead, waiting, running] = jobs.map(({ id }) => id) as [string, string, string, string];
  Object.assign(ids, { done, dead, waiting, running });
  const states = () => Promise.all([done, dead, running].map(async (id) => (await api.get(id)).state));
  await vi.waitFor(async () => expect(await states()).toEqual(["done", "dead", "running"]), {
    timeout: 30_000,
  });
});

type View = {
  readonly name: string;
  /** Reads `ids` late, because the jobs exist only when a test runs. */
  readonly path: () => string;
  /** The heading of the view. */
  readonly heading: string | RegExp;
  /** A text of the view that is there when everything is read. */
  readonly ready: string | RegExp;
};

/** Each view, in each of its states that differ. A new view gets a row here. */
const VIEWS: readonly View[] = [
  {
    name: "a running job",
    path: () => `/console/jobs/${ids.running}`,
    heading: /^every-view-running.*running/,
    ready: "claimed",
  },
  { name: "overview", path: () => "/console", heading: "Overview", ready: /due in the next/ },
  { name: "jobs", path: () => "/console/jobs?topic=work", heading: "Jobs", ready: /jobs read/ },
  {
    name: "jobs of nothing",
    path: () => "/console/jobs?tag=nobody",
    heading: "Jobs",
    ready: "No job of this range matches",
  },
  { name: "jobs found", path: () => `/console/jobs?find=${ids.dead}`, heading: "Jobs", ready: "1 job has" },
  {
    name: "jobs not found",
    path: () => "/console/jobs?find=nobody",
    heading: "Jobs",
    ready: "A search compares whole ids",
  },
  {
    name: "a waiting job",
    path: () => `/console/jobs/${ids.waiting}`,
    heading: new RegExp(`^${LONG_KEY}-waiting`),
    ready: "W".repeat(180),
  },
  { name: "a done job", path: () => `/console/jobs/${ids.done}`, heading: /done/, ready: "Body" },
  { name: "a dead job", path: () => `/console/jobs/${ids.dead}`, heading: /dead/, ready: "Last error" },
  { name: "dead jobs", path: () => "/console/dead?topic=reminders", heading: /^Dead/, ready: LONG_KEY },
  {
    name: "nothing",
    path: () => "/console/nowhere",
    heading: "There is no such view",
    ready: "names no view",
  },
];

async function open({ path, heading, ready }: View, width: number = WIDTHS[2]): Promise<Page> {
  const page = await browser.open(path(), { viewport: { width, height: 900 } });
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
  await page.getByText(ready).first().waitFor();
  return page;
}

describe.each(VIEWS)("$name", (view) => {
  test("fits in each width, has one heading that names the tab, and is accessible in light and dark", async () => {
    const page = await open(view, WIDTHS[0]);
    const heading = (await page.locator("h1").textContent()) ?? "";
    expect(await page.title()).toBe(`${heading} · local stack · Minutehand`.replaceAll(/\s+/g, " "));
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      const { wide, headings } = await page.evaluate(() => ({
        wide: document.documentElement.scrollWidth - innerWidth,
        headings: document.querySelectorAll("h1").length,
      }));
      expect({ width, isTooWide: wide > 0, headings }).toEqual({ width, isTooWide: false, headings: 1 });
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        await expectAccessible(page);
      }
    }
  });

  test("Tab reaches everything, and shows where it is", async () => {
    const page = await open(view);
    const count = await page.evaluate(() => {
      addEventListener("focusin", ({ target }) => {
        const element = target as HTMLElement;
        element.dataset.reached = getComputedStyle(element).outlineStyle;
      });
      return document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]").length;
    });
    for (let pressed = 0; pressed <= count; pressed++) await page.keyboard.press("Tab");
    const missed = await page.evaluate(() =>
      [
        ...document.querySelectorAll<HTMLElement>(
          "a[href], button, input, select, textarea, summary, [tabindex='0']",
        ),
      ]
        .filter(
          (element) =>
            element.checkVisibility() &&
            !element.matches(":disabled, [data-reached=solid], [data-reached=auto]"),
        )
        .map((element) => `${element.outerHTML.slice(0, 120)} ${element.dataset.reached ?? "not reached"}`),
    );
    expect(missed).toEqual([]);
  });
});

test("what is wrong on a page would be noticed", async () => {
  const page = await open(VIEWS.at(-1) as View);
  await page.evaluate(() => {
    document.querySelector("main")?.append(document.createElement("input"));
  });
  expect(await barriersOn(page)).toEqual([expect.stringContaining("label: Form elements must have labels")]);
});
