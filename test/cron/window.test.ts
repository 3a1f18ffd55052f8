import { describe, expect, it } from "vitest";
import { nextOpening, parseWindow } from "../../src/cron/window.ts";

const opening = (window: string, time: string): string =>
  new Date(nextOpening(window, Date.parse(time))).toISOString();

describe("a window", () => {
  it.each([
    ["is open from its first minute", "2026-03-02T01:00:00.000Z", "2026-03-02T01:00:00.000Z"],
    ["is open to the last ms", "2026-03-02T09:59:59.999Z", "2026-03-02T09:59:59.999Z"],
    ["is closed when it closes", "2026-03-02T10:00:00.000Z", "2026-03-03T01:00:00.000Z"],
    ["opens later that day", "2026-03-01T22:00:00.001Z", "2026-03-02T01:00:00.000Z"],
  ])("%s", (_, time, expected) => {
    expect(opening("09:00-18:00 Asia/Shanghai", time)).toBe(expected);
  });

  it("may pass midnight", () => {
    expect(opening("22:00-06:00 UTC", "2026-03-02T23:59:00.000Z")).toBe("2026-03-02T23:59:00.000Z");
    expect(opening("22:00-06:00 UTC", "2026-03-02T05:59:59.999Z")).toBe("2026-03-02T05:59:59.999Z");
    expect(opening("22:00-06:00 UTC", "2026-03-02T06:00:00.000Z")).toBe("2026-03-02T22:00:00.000Z");
    expect(opening("18:00-00:00 UTC", "2026-03-02T00:00:00.000Z")).toBe("2026-03-02T18:00:00.000Z");
  });

  // New York's clocks go from 02:00 to 03:00 on 2026-03-08, 07:00Z, and from 02:00 to 01:00 on 2026-11-01, 06:00Z.
  it.each([
    [
      "opens when the skipped hour is over if its opening lies in that hour",
      "02:30-05:00",
      "2026-03-08T06:00Z",
      "2026-03-08T07:00:00.000Z",
    ],
    [
      "is not open at all on a day that skips it",
      "02:15-02:45",
      "2026-03-08T06:00Z",
      "2026-03-09T06:15:00.000Z",
    ],
    [
      "opens by the new clock after it went forward",
      "09:00-18:00",
      "2026-03-08T06:00Z",
      "2026-03-08T13:00:00.000Z",
    ],
    [
      "opens by the new clock after it went back",
      "09:00-18:00",
      "2026-11-01T01:00Z",
      "2026-11-01T14:00:00.000Z",
    ],
    [
      "opens again with the hour that comes twice",
      "01:15-01:45",
      "2026-11-01T05:50Z",
      "2026-11-01T06:15:00.000Z",
    ],
    [
      "opens again as the clock goes back into it",
      "00:30-01:30",
      "2026-11-01T05:40Z",
      "2026-11-01T06:00:00.000Z",
    ],
  ])("%s", (_, times, time, expected) => {
    expect(opening(`${times} America/New_York`, time)).toBe(expected);
  });

  it.each([
    "09:00-18:00",
    "9:00-18:00 UTC",
    "09:00-24:00 UTC",
    "09:60-18:00 UTC",
    "09:00-09:00 UTC",
    "09:00-18:00 UTC ",
    "09:00 - 18:00 UTC",
    "",
  ])("is not %j", (text) => {
    expect(() => parseWindow(text)).toThrow(
      `a window must be two different times of day and a zone, such as "09:00-18:00 Asia/Shanghai", got ${JSON.stringify(text)}`,
    );
  });

  it.each(["+08:00", "Mars/Olympus"])("is in no zone %j", (zone) => {
    expect(() => parseWindow(`09:00-18:00 ${zone}`)).toThrow("timezone must be an IANA name");
  });
});
