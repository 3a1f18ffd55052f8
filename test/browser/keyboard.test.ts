import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { testBrowser } from "./browser.ts";
import { fileAll } from "./file-all.ts";
import { stackUrl } from "./stack-url.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });

async function overview(): Promise<Page> {
  const page = await browser.open("/console");
  await page.getByRole("heading", { name: "What needs you" }).waitFor();
  return page;
}

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { level: 1, name });
const focused = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    return (
      element?.id || element?.getAttribute("aria-label") || element?.textContent?.trim() || element?.tagName
    );
  });

describe("with the keyboard alone", () => {
  test("/ searches, and the search finds a job by its key", async () => {
    await api.enqueue("work", {}, { delay: "40m", key: "keyboard-1" });
    const page = await overview();
    await page.keyboard.press("/");
    await page.keyboard.type("keyboard-1");
    await page.keyboard.press("Enter");
    await heading(page, /^keyboard-1/).waitFor();
  });

  test("keys are letters in a field", async () => {
    const page = await overview();
    await page.keyboard.press("/");
    await page.keyboard.type("/gj?r");
    expect(await page.getByRole("combobox", { name: /^Search/ }).inputValue()).toBe("/gj?r");
    expect(await page.getByRole("dialog").count()).toBe(1);
    await heading(page, "Overview").waitFor();
  });

  test("? names each key, and Esc closes the list and gives the focus back", async () => {
    const page = await overview();
    const button = page.getByRole("button", { name: "Show the keys" });
    await button.focus();
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog", { name: "Keys" });
    await dialog.waitFor();
    for (const key of ["/", "?", "Esc", "j and k", "g o", "g j", "g d"])
      await dialog.getByText(key, { exact: true }).waitFor();
    await page.keyboard.type("gd");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    expect(await focused(page)).toBe("Show the keys");
    await heading(page, "Overview").waitFor();
    await page.keyboard.press("Enter");
    await dialog.waitFor();
    await dialog.getByRole("button", { name: "Close" }).press("Enter");
    await dialog.waitFor({ state: "hidden" });
    expect(await focused(page)).toBe("Show the keys");
  });

  test.each([
    ["g j", /^Jobs$/],
    ["g d", /^Dead/],
    ["g o", /^Overview$/],
  ])("%s opens a view, whose content gets the focus and whose title is announced", async (keys, name) => {
    const page = await browser.open("/console/nowhere");
    await heading(page, "There is no such view").waitFor();
    for (const key of keys.split(" ")) await page.keyboard.press(key);
    await heading(page, name).waitFor();
    expect(await focused(page)).toBe("main");
    await page.locator("[aria-live=polite]", { hasText: name }).waitFor({ state: "attached" });
    expect(await page.title()).toMatch(
      new RegExp(`${name.source.replace("$", "")}.* · local stack of .+ · Minutehand$`),
    );
  });

  test("j and k go through the lines of a list, and Enter opens one", async () => {
    const jobs = ["a", "b", "c"].map((name) => ({
      delay: "50m" as const,
      key: `keyboard-line-${name}`,
      tag: "keyboard-line",
    }));
    await fileAll(api, jobs);
    const page = await browser.open("/console/jobs?tag=keyboard-line");
    const line = (name: string) => page.locator("[data-line]", { hasText: `keyboard-line-${name}` });
    await line("c").waitFor();
    const order = await page.locator("[data-line] strong").allTextContents();
    const text = async () => (await focused(page))?.match(/keyboard-line-./)?.[0];
    await page.keyboard.press("j");
    expect(await text()).toBe(order[0]);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    expect(await text()).toBe(order[2]);
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    expect(await text()).toBe(order[1]);
    await page.keyboard.press("Enter");
    await heading(page, new RegExp(`^${order[1]}`)).waitFor();
    expect(await focused(page)).toBe("main");
    await page.goBack();
    await heading(page, "Jobs").waitFor();
    await line("a").waitFor();
    expect(await page.title()).toContain("Jobs");
  });

  test("the first Tab offers to skip the navigation", async () => {
    const page = await overview();
    await page.keyboard.press("Tab");
    expect(await focused(page)).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await focused(page)).toBe("main");
  });

  test("an action asks first, Esc leaves everything as it was, and Enter does it", async () => {
    const { id } = await api.enqueue("work", {}, { delay: "55m", key: "keyboard-cancel" });
    const page = await browser.open(`/console/jobs/${id}`);
    const button = page.getByRole("button", { name: /^Cancel/ });
    await button.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Cancel this job?" });
    await dialog.waitFor();
    expect(await dialog.evaluate((element) => element.contains(document.activeElement))).toBe(true);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    expect(await focused(page)).toMatch(/^Cancel/);
    expect((await api.get(id)).state).toBe("scheduled");

    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Cancel the job" }).press("Enter");
    await page.getByText("Cancelled keyboard-cancel. It will not run.").waitFor();
    expect((await api.get(id)).state).toBe("cancelled");
    // The button keeps the focus, and says why it does nothing now.
    await heading(page, /cancelled/).waitFor();
    await expect.poll(() => focused(page)).toMatch(/^Cancel/);
    await page.keyboard.press("Enter");
    await page.getByText("Cancel: the job is cancelled, so it cannot be changed.").waitFor();
    expect(await dialog.count()).toBe(0);
  });
});
