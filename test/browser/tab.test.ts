import { beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { expectAccessible, expectNoOverflow } from "./accessible.ts";
import { testBrowser } from "./browser.ts";
import { playScene, type Scene } from "./scene.ts";
import { stackUrl } from "./stack-url.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });

/** A text that is code elsewhere, and that has no place to break. */
const HOSTILE = `<img src=x onerror="alert(1)"></script>{{7*7}}${"W".repeat(180)}`;
const LONG_KEY = `tab-${"0123456789".repeat(22)}`;

let scene: Scene;
let hostile: string;
beforeAll(async () => {
  scene = await playScene(api, "tab");
  const options = { delay: "20m", key: LONG_KEY, tag: HOSTILE.slice(0, 60) } as const;
  ({ id: hostile } = await api.enqueue("work", { text: HOSTILE.repeat(500), [HOSTILE]: [HOSTILE] }, options));
});

const VIEWS: readonly [name: string, path: () => string, text: string][] = [
  ["overview", () => "/console", "What needs you"],
  ["time", () => "/console/time?topic=work", "The numbers as a table"],
  ["jobs", () => "/console/jobs?topic=work&tag=tab-tag", "tab-waiting"],
  ["dead job", () => `/console/jobs/${scene.dead.id}`, "Last error"],
  ["hostile job", () => `/console/jobs/${hostile}`, "W".repeat(180)],
  ["dead", () => "/console/dead?topic=work", "cannot read the price of order"],
  ["schedules", () => "/console/schedules", "Schedules"],
  ["live", () => "/console/live", "lines"],
  ["enqueue", () => "/console/enqueue?topic=work", "The same call as curl"],
];

describe("on each view, without a pointer:", () => {
  test.each(VIEWS)("%s: Tab reaches everything, and shows where it is", async (_, path, text) => {
    const page = await browser.open(path());
    await page.getByText(text).first().waitFor();
    const count = await page.evaluate(() => {
      addEventListener("focusin", ({ target }) => {
        const element = target as HTMLElement;
        // A field may mark its box instead of itself.
        const outlines = [element, element.parentElement].map(
          (one) => one && getComputedStyle(one).outlineStyle,
        );
        element.dataset.reached =
          outlines.find((style) => style === "solid" || style === "auto") ?? "not marked";
      });
      const all = document.querySelectorAll<HTMLElement>(
        "a, button, input, select, textarea, summary, [tabindex]",
      );
      for (const element of all) element.dataset.asked = "";
      return all.length;
    });
    for (let pressed = 0; pressed <= count + 20; pressed++) await page.keyboard.press("Tab");
    const missed = await page.evaluate(() =>
      [
        ...document.querySelectorAll<HTMLElement>(
          // Lines of the live log come and go meanwhile.
          "a[href]:not(.live-line), button, input:not([type=radio]), select, textarea, summary, [tabindex='0']",
        ),
      ]
        // Other tests change jobs, so that links come and go.
        .filter((element) => element.dataset.asked !== undefined)
        .filter((element) => element.checkVisibility() && !element.matches(":disabled, [tabindex='-1']"))
        .filter((element) => !["solid", "auto"].includes(element.dataset.reached ?? ""))
        .map((element) => `${element.dataset.reached ?? "not reached"}: ${element.outerHTML.slice(0, 120)}`),
    );
    expect(missed).toEqual([]);
  });
});

test("texts of jobs that are code elsewhere, and that do not break, are texts that fit", async () => {
  const page = await browser.open(`/console/jobs/${hostile}`, { viewport: { width: 360, height: 800 } });
  await page.getByText("W".repeat(180)).first().waitFor();
  await expectNoOverflow(page);
  await expectAccessible(page);
  expect(await page.locator("main img, main script").count()).toBe(0);
  await page.goto(`${stackUrl}/console/jobs?tag=${encodeURIComponent(HOSTILE.slice(0, 60))}`);
  await page.getByText(LONG_KEY).waitFor();
  await expectNoOverflow(page);
});
