import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { expectAccessible, expectNoOverflow } from "./accessible.ts";
import { testBrowser } from "./browser.ts";
import { stackUrl } from "./stack-url.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });

beforeAll(async () => {
  const jobs = [
    { key: "sofa-17", delay: "2h" },
    { key: "sofa-171", delay: "50m" },
    { key: "chair-17", tag: "with-sofa", delay: "40m" },
    { key: "table-18", group: "sofa:17", delay: "3d" },
    { key: "sofa-18", delay: "30m", body: { customerId: 4711, note: "z".repeat(400) } },
  ] as const;
  await Promise.all(jobs.map(({ key, ...job }) => api.put("work", key, { body: {}, ...job })));
});

const paletteOf = (page: Page) => page.getByRole("dialog", { name: "Search, or go to" });

/** Waits for the end of a search. A slow machine does not compare the whole range in one turn. */
async function searched(page: Page, found: string): Promise<void> {
  const goOn = page.getByRole("button", { name: "Go on" });
  const isOver = async () => {
    if (await goOn.isVisible()) await goOn.click();
    return page.getByText(`Searched. ${found}.`, { exact: true }).isVisible();
  };
  await expect.poll(isOver).toBe(true);
}

test("words find keys, tags and groups, the best match first, and the view says what was searched", async () => {
  const page = await browser.open("/console/jobs?find=sofa+17");
  await searched(page, "4 jobs found");
  const names = page.getByLabel("Jobs with the words of sofa 17").locator(".job-name");
  expect(await names.allTextContents()).toEqual(["sofa-17", "sofa-171", "chair-17", "table-18"]);
  await page
    .getByText(
      /^Compared: \d+ jobs due from .* By id, key, tag, group, schedule and error, and not by their bodies\.$/,
    )
    .waitFor();
  // That no job has the whole text as its key is no failure, and stands below what was found.
  expect(await page.getByRole("main").textContent()).toMatch(/4 jobs found.*No job has the id or the key/s);
  await page.getByLabel("Due").selectOption("an hour ago to an hour ahead");
  await searched(page, "2 jobs found");
  expect(new URL(page.url()).searchParams.get("within")).toBe("an hour ago to an hour ahead");
});

test("a word of a body finds its job only in a search of bodies, which the view offers", async () => {
  const page = await browser.open(
    "/console/jobs?find=customer+4711&topic=work&within=an+hour+ago+to+an+hour+ahead",
  );
  await page.getByText("Nothing was found. Look further:").waitFor();
  await page.getByText("If you expected a job here").waitFor();
  await page.getByRole("button", { name: "Search the bodies too" }).click();
  await searched(page, "1 job found");
  await page.getByText(/Its body: \{"customerId":4711/).waitFor();
  await page.getByText(/ \d+ by their bodies too\.$/).waitFor();
});

test("a search is stopped, says what it has compared, and goes on", async () => {
  const page = await browser.open("/console/jobs?find=sofa+18&within=an+hour+ago+to+an+hour+ahead");
  await searched(page, "1 job found");
  const wanted = Promise.withResolvers<void>();
  await page.route("**/jobs?*", async (route) => {
    await wanted.promise;
    await route.continue();
  });
  await page.getByRole("combobox", { name: "Topic" }).selectOption("work");
  // An action of another test may be in progress, and can be stopped too.
  await page.getByRole("main").getByRole("button", { name: "Stop" }).click();
  wanted.resolve();
  await page.getByText(/^Not everything was searched\./).waitFor();
  await page.getByRole("button", { name: "Go on" }).click();
  await searched(page, "1 job found");
});

test("a key opens its job, and all jobs with its words are one line further in the palette", async () => {
  const page = await browser.open("/console");
  await page.getByRole("button", { name: "Search" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("sofa-17");
  const options = paletteOf(page).getByRole("option");
  expect(await options.first().textContent()).toContain("Search jobs for “sofa-17”");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByText("1 job has the key sofa-17.").waitFor();
  await page.getByLabel("Jobs with the words of sofa-17").getByText("sofa-171").waitFor();
});

test("Ctrl+K opens the palette from a field, its arrows choose, and Esc gives the focus back", async () => {
  const page = await browser.open("/console/enqueue");
  const field = page.getByLabel("Key (optional)");
  await field.focus();
  await page.keyboard.press("Control+k");
  const input = page.getByRole("combobox", { name: /^Search for jobs/ });
  await expect.poll(() => input.evaluate((element) => element === document.activeElement)).toBe(true);
  const chosen = paletteOf(page).getByRole("option", { selected: true });
  expect(await chosen.textContent()).toContain("Overview");
  await page.keyboard.press("ArrowUp");
  await expect
    .poll(async () => input.getAttribute("aria-activedescendant"))
    .toBe(await chosen.getAttribute("id"));
  expect(await chosen.textContent()).not.toContain("Overview");
  await page.keyboard.press("Escape");
  await expect.poll(() => field.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("work dead");
  await paletteOf(page)
    .getByRole("option", { name: /^work: dead jobs/, selected: true })
    .waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Dead jobs" }).waitFor();
  expect(page.url()).toContain("topic=work");
});

test("a topic is paused and resumed from the palette, after its dialog has asked", async () => {
  const page = await browser.open("/console/schedules");
  await page.getByRole("button", { name: "Search" }).waitFor();
  for (const [words, title, confirm, done] of [
    ["callbacks pau", "Pause callbacks?", "Pause the topic", /^Paused callbacks\./],
    ["callbacks res", "Resume callbacks?", "Resume the topic", /^Resumed callbacks\./],
  ] as const) {
    await page.keyboard.press("/");
    await page.keyboard.type(words);
    await page
      .getByRole("option", { name: new RegExp(`^callbacks: ${confirm.split(" ")[0]?.toLowerCase()}`) })
      .waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: title }).getByRole("button", { name: confirm }).click();
    await page.getByText(done).waitFor();
  }
});

test("settings are changed from the palette", async () => {
  const page = await browser.open("/console", { timezoneId: "Asia/Tokyo" });
  await page.getByRole("button", { name: "Search" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("times utc");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByLabel("Time zone").inputValue()).toBe("UTC");
  await page.keyboard.press("/");
  await page.keyboard.type("dark");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByLabel("Colours").inputValue()).toBe("dark");
});

test("the palette is accessible and fits at each width, in both colours", async () => {
  const page = await browser.open("/console/schedules");
  await page.getByRole("button", { name: "Search" }).waitFor();
  await page.keyboard.press("/");
  await paletteOf(page).getByRole("option").first().waitFor();
  for (const width of [1440, 360]) {
    await page.setViewportSize({ width, height: 900 });
    await expectNoOverflow(page);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page);
    }
  }
});
