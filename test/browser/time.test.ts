import { beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { testBrowser } from "./browser.ts";
import { stackUrl } from "./stack-url.ts";

const browser = testBrowser();
const api = createClient({ url: stackUrl });
const DAY = "2030-08-01";

const rangeOf = (url: string) => {
  const { searchParams } = new URL(url);
  return [searchParams.get("from"), searchParams.get("to")].map((time) => Date.parse(time ?? ""));
};

test("a long range counts jobs, a short one draws them as links", async () => {
  for (const minute of ["00", "01", "02"])
    await api.enqueue("work", {}, { dueAt: `${DAY}T09:${minute}:30Z`, key: `time-${minute}` });
  const page = await browser.open(`/console/time?topic=work&from=${DAY}T08:30:00Z&to=${DAY}T10:00:00Z`);
  await page.getByText("3 due; tallest bar 1").waitFor();
  await page.getByText("Schedules will add jobs at their next occurrences").waitFor();
  await page.getByText("The numbers as a table").click();
  await page.getByRole("link", { name: "1 due" }).first().waitFor();
  await page.goto(`${stackUrl}/console/time?topic=work&from=${DAY}T09:00:00Z&to=${DAY}T09:05:00Z`);
  await page.getByRole("link", { name: "time-01, scheduled" }).click();
  await page.getByRole("heading", { name: "time-01" }).waitFor();
});

describe("a bar", () => {
  beforeAll(() => api.enqueue("work", {}, { dueAt: `${DAY}T15:00:30Z`, key: "time-bar" }));

  async function openBar() {
    const page = await browser.open(`/console/time?topic=work&from=${DAY}T14:00:00Z&to=${DAY}T16:00:00Z`, {
      timezoneId: "UTC",
    });
    await page.getByRole("img", { name: /^Jobs of work: 1 due/ }).waitFor();
    return { page, bars: page.getByRole("link", { name: /^Jobs of work/ }) };
  }

  test("says its numbers to the pointer, and leads to its jobs", async () => {
    const { page, bars } = await openBar();
    const box = await bars.boundingBox();
    const at = (minute: number) => ({ position: { x: ((box?.width ?? 0) * minute) / 120, y: 20 } });
    await bars.hover(at(30.5));
    await page.getByText("no jobs, 1 Aug, 14:30–14:31 UTC").waitFor();
    await bars.hover(at(60.5));
    await page.getByText("1 due, 1 Aug, 15:00–15:01 UTC").waitFor();
    await bars.click(at(60.5));
    await page.getByText("time-bar").waitFor();
    expect(rangeOf(page.url())).toEqual([Date.parse(`${DAY}T15:00:00Z`), Date.parse(`${DAY}T15:01:00Z`)]);
  });

  test("is reached with the arrow keys", async () => {
    const { page, bars } = await openBar();
    await bars.focus();
    await page.keyboard.press("ArrowRight");
    await page.getByText("1 due, 1 Aug, 15:00–15:01 UTC").waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("time-bar").waitFor();
  });

  test("is not covered by the text of its lane", async () => {
    const { page, bars } = await openBar();
    const text = await page.locator(".lane-head").boundingBox();
    const box = await bars.boundingBox();
    expect((text?.y ?? 0) + (text?.height ?? 0)).toBeLessThanOrEqual(box?.y ?? 0);
  });
});

test("a lane that is not yet counted does not say that it has no jobs", async () => {
  const page = await browser.open("/console");
  const counted = Promise.withResolvers<void>();
  await page.route("**/forecast?*", async (route) => {
    await counted.promise;
    await route.continue();
  });
  await page.goto(`${stackUrl}/console/time?topic=work&from=${DAY}T20:00:00Z&to=${DAY}T22:00:00Z`);
  await page.getByText("counting …", { exact: true }).waitFor();
  expect(await page.getByText("no jobs").count()).toBe(0);
  counted.resolve();
  await page.getByText("no jobs").waitFor();
});

test("a lane without jobs says that a schedule will file some in its range", async () => {
  const cron = { expression: "cron(0 12 5 8 ? 2030)", timezone: "UTC", body: {} };
  await api.putSchedule("time-august", { topic: "nights", ...cron });
  const textOf = async (from: string) => {
    const page = await browser.open(`/console/time?topic=nights&from=${from}&to=2030-08-05T14:00:00Z`);
    return page.getByRole("region", { name: "nights" }).locator(".lane-texts");
  };
  const before = await textOf("2030-08-05T11:30:00Z");
  await before.getByText("no jobs yet; 1 schedule will file jobs here", { exact: true }).waitFor();
  const after = await textOf("2030-08-05T12:30:00Z");
  await after.getByText("no jobs", { exact: true }).waitFor();
  await api.removeSchedule("time-august");
});

test("the wheel, the keys, the buttons and a drag change the range in the address", async () => {
  const page = await browser.open(`/console/time?topic=work&from=${DAY}T00:00:00Z&to=${DAY}T04:00:00Z`);
  const lanes = page.locator(".lanes");
  await lanes.waitFor();
  const span = () => {
    const [from = 0, to = 0] = rangeOf(page.url());
    return to - from;
  };
  const hours = 4 * 3_600_000;
  await page.keyboard.press("+");
  await expect.poll(span).toBe(hours / 2);
  await page.getByRole("button", { name: "Show a longer range" }).click();
  await expect.poll(span).toBe(hours);
  const [before] = rangeOf(page.url());
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => rangeOf(page.url())[0]).toBe((before ?? 0) + hours / 4);
  await lanes.hover();
  await page.mouse.wheel(0, -100);
  await expect.poll(span).toBe(hours * 0.8);
  const [start = 0] = rangeOf(page.url());
  const box = (await lanes.boundingBox()) ?? { x: 0, y: 0, width: 0 };
  await page.mouse.move(box.x + 300, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 200, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await expect.poll(() => rangeOf(page.url())[0] ?? 0).toBeGreaterThan(start);
  expect(new URL(page.url()).pathname).toBe("/console/time");
});

test("at the closest zoom, each second stands once on the axis, and no text is cut", async () => {
  const page = await browser.open("/console");
  await page.addInitScript(() => {
    const { prototype } = CanvasRenderingContext2D;
    const { fillText } = prototype;
    const drawn: [text: string, left: number, right: number][] = [];
    Object.assign(window, { drawn });
    prototype.fillText = function (text, x, y) {
      const [half, { e, a }] = [this.measureText(text).width / 2, this.getTransform()];
      drawn.push([text, e + a * (x - half), this.canvas.width - e - a * (x + half)]);
      fillText.call(this, text, x, y);
    };
  });
  await page.goto(`${stackUrl}/console/time?topic=work&from=${DAY}T09:00:00Z&to=${DAY}T09:00:10Z`);
  await page.getByText("one bar is 1 s").waitFor();
  const drawn = () =>
    page.evaluate(() => (window as unknown as { drawn: [string, number, number][] }).drawn.splice(0));
  await expect.poll(drawn).not.toEqual([]);
  await page.setViewportSize({ width: 1430, height: 900 });
  let axis: [string, number, number][] = [];
  await expect
    .poll(async () => {
      const texts = (await drawn()).filter(([text]) => text.includes(":"));
      // The axis may be drawn several times, each time from left to right.
      axis = texts.slice(
        texts.findLastIndex(([, left], index) => left < (texts[index - 1]?.[1] ?? Infinity)),
      );
      return axis.length;
    })
    .toBeGreaterThan(5);
  expect(new Set(axis.map(([text]) => text)).size).toBe(axis.length);
  expect(Math.min(...axis.flatMap(([, left, right]) => [left, right]))).toBeGreaterThanOrEqual(0);
});

test("all topics have a lane together, a bar has one scale or its own, and a day is a whole day of the zone", async () => {
  const at = (minute: number) => `2030-08-05T09:${minute}:30Z`;
  for (const index of [1, 2, 3]) await api.enqueue("work", {}, { dueAt: at(30), key: `time-scale-${index}` });
  await api.enqueue("reminders", {}, { dueAt: at(30), key: "time-scale" });
  const range = "from=2030-08-05T08:00:00Z&to=2030-08-05T11:00:00Z";
  const page = await browser.open(`/console/time?${range}`, { timezoneId: "Europe/Berlin" });
  await page
    .getByRole("region", { name: "all topics" })
    .getByText(/^4 due; tallest bar 4/)
    .waitFor();
  await page.getByText("due 4", { exact: true }).waitFor();
  await page.getByLabel("Height of the bars").selectOption("all topics on one scale");
  await expect.poll(() => new URL(page.url()).searchParams.get("scale")).toBe("one");
  await page.reload();
  await page
    .getByRole("region", { name: "reminders" })
    .getByText(/^1 due/)
    .waitFor();
  await page.getByRole("button", { name: "tomorrow" }).click();
  const midnight = (time: number) =>
    new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Berlin", timeStyle: "medium" }).format(time);
  await expect.poll(() => rangeOf(page.url()).map(midnight)).toEqual(["00:00:00", "00:00:00"]);
});

test("a finger's first touch of a bar shows its numbers, and the second one opens its jobs", async () => {
  await api.enqueue("work", {}, { dueAt: "2030-08-06T15:00:30Z", key: "time-touch" });
  const page = await browser.open(
    "/console/time?topic=work&from=2030-08-06T14:00:00Z&to=2030-08-06T16:00:00Z",
    { timezoneId: "UTC", hasTouch: true, viewport: { width: 390, height: 844 } },
  );
  await page.getByRole("img", { name: /^Jobs of work: 1 due/ }).waitFor();
  const bars = page.getByRole("link", { name: /^Jobs of work/ });
  const { width = 0 } = (await bars.boundingBox()) ?? {};
  const position = { x: (width * 60.5) / 120, y: 20 };
  await bars.tap({ position });
  await page.getByText("1 due, 6 Aug, 15:00–15:01 UTC").waitFor();
  expect(new URL(page.url()).pathname).toBe("/console/time");
  await bars.tap({ position });
  await page.getByText("time-touch").waitFor();
});

test("the chosen range is shown as chosen", async () => {
  const page = await browser.open("/console/time");
  const pressed = page.getByRole("button", { pressed: true });
  await expect.poll(() => pressed.allTextContents()).toEqual(["an hour ago to a day ahead"]);
  for (const name of ["next hour", "tomorrow"]) {
    await page.getByRole("button", { name, exact: true }).click();
    await expect.poll(() => pressed.allTextContents()).toEqual([name]);
  }
  await page.getByRole("button", { name: "Show a longer range" }).click();
  await expect.poll(() => pressed.count()).toBe(0);
});
