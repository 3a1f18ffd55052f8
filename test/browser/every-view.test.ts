import { beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { expectAccessible, expectNoOverflow } from "./accessible.ts";
import { testBrowser } from "./browser.ts";
import { playScene, type Scene } from "./scene.ts";
import { stackUrl } from "./stack-url.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });
let scene: Scene;

beforeAll(async () => {
  scene = await playScene(api, "views");
  // A search lists the jobs if two topics have the key.
  await api.enqueue("reminders", {}, { delay: "20m", key: "views-waiting" });
  // With a second topic that has dead jobs, lists of topics have several lines.
  await api.enqueue("reminders", { fails: "no shop" }, { delay: 0, maxAttempts: 1 });
  await api.putSchedule("views-daily", { expression: "cron(0 9 ? * MON-FRI *)", topic: "work", body: {} });
});

const VIEWS: readonly [name: string, path: () => string, text: string | RegExp][] = [
  ["overview", () => "/console", "What needs you"],
  ["time", () => "/console/time?topic=work", "The numbers as a table"],
  ["jobs", () => "/console/jobs?topic=work", "views-waiting"],
  ["found jobs", () => "/console/jobs?find=views-waiting", "2 jobs have the key"],
  ["no jobs", () => "/console/jobs?find=nobody", "No job has the id or the key"],
  ["waiting job", () => `/console/jobs/${scene.waiting.id}`, "starts attempt 1"],
  ["dead job", () => `/console/jobs/${scene.dead.id}`, "Last error"],
  ["held job", () => `/console/jobs/${scene.held.id}`, "is held by"],
  ["no such job", () => "/console/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV", "Cannot read"],
  // Other files make jobs of this topic die too.
  ["dead", () => "/console/dead", /^reminders: \d+ dead/],
  ["dead of a topic", () => "/console/dead?topic=work", "cannot read the price of order"],
  ["retrying of a topic", () => "/console/dead?topic=work&of=retrying", "for a retry"],
  ["schedules", () => "/console/schedules", "views-daily"],
  ["schedule", () => "/console/schedules/views-daily", "Monday through Friday"],
  ["live", () => "/console/live", "lines"],
  ["enqueue", () => "/console/enqueue?topic=work", "The same call as curl"],
  ["nothing", () => "/console/nothing", "There is no such view"],
];

test.each(VIEWS)("%s is accessible and fits at each width, in both colours", async (_, path, text) => {
  const page = await browser.open(path());
  await page.getByText(text).first().waitFor();
  expect(await page.locator("h1").count()).toBeLessThanOrEqual(1);
  for (const width of [1440, 768, 360]) {
    await page.setViewportSize({ width, height: 900 });
    await expectNoOverflow(page);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page);
    }
  }
});

test("on a phone, each control and each link that stands alone is large enough for a finger", async () => {
  const page = await browser.open("/console", { viewport: { width: 390, height: 844 }, hasTouch: true });
  const found: string[] = [];
  for (const [, path, text] of VIEWS) {
    await page.goto(`${stackUrl}${path()}`);
    await page.getByText(text).first().waitFor();
    const controls = page.locator("a:not(p a, .skip), button, input, select, textarea, summary");
    const small = await controls.evaluateAll((all) =>
      all
        .map((one) => ({ box: one.getBoundingClientRect(), html: one.outerHTML }))
        .filter(({ box }) => box.width > 0 && Math.min(box.width, box.height) < 24)
        .map(({ box, html }) => `${box.width} × ${box.height}: ${html}`),
    );
    found.push(...small);
  }
  expect(found).toEqual([]);
});

test("these tests notice a page that is not accessible or too wide", async () => {
  const page = await browser.open("/console");
  await page.getByText("What needs you").waitFor();
  await page.evaluate(() => {
    const button = document.createElement("button");
    button.style.width = "3000px";
    button.style.maxWidth = "none";
    document.querySelector("main")?.append(button);
  });
  await expect(expectAccessible(page)).rejects.toThrow("button-name");
  await expect(expectNoOverflow(page)).rejects.toThrow();
});

test("each view has a title of its own", async () => {
  const page = await browser.open("/console");
  const titles = new Set<string>();
  for (const [, path] of VIEWS.filter(([name]) => !/jobs|such|topic/.test(name))) {
    await page.goto(`${stackUrl}${path()}`);
    await expect.poll(() => page.title()).toContain("Minutehand");
    titles.add(await page.title());
  }
  expect(titles.size).toBe(VIEWS.filter(([name]) => !/jobs|such|topic/.test(name)).length);
});
