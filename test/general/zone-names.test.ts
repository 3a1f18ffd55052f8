import { describe, expect, it } from "vitest";
import { wallClock } from "../../src/cron/wall-clock.ts";
import { nextOpening, windowFault } from "../../src/cron/window.ts";
import { nearestZones, zoneNames } from "../../src/general/zone-names.ts";

describe("the name of a time zone", () => {
  it("is one of the IANA database, an older one and a link too", () => {
    for (const zone of [
      "UTC",
      "Europe/Berlin",
      "America/Argentina/Buenos_Aires",
      "Etc/GMT-14",
      "US/Eastern",
      "CET",
    ])
      expect(() => wallClock(zone)).not.toThrow();
    const now = Date.UTC(2026, 0, 1);
    const [india, kyiv] = [
      ["Asia/Calcutta", "Asia/Kolkata"],
      ["Europe/Kiev", "Europe/Kyiv"],
    ].map((spellings) => spellings.map((zone) => wallClock(zone).at(now) - now));
    expect(india).toEqual([19_800_000, 19_800_000]);
    expect(kyiv).toEqual([7_200_000, 7_200_000]);
  });

  it("has a clock, whichever it is", () => {
    for (const zone of zoneNames()) expect(() => wallClock(zone)).not.toThrow();
    expect(zoneNames().size).toBeGreaterThanOrEqual(597);
  });

  it.each([
    ...["BST", "IST", "AST", "PST", "JST", "SystemV/AST4", "US/Pacific-New", "Factory", "Mars/Olympus"],
    ...["+01:00", "UTC+1", "Z", "", " UTC", "europe/berlin", "utc", "EUROPE/BERLIN"],
  ])("is not %j", (zone) => {
    expect(() => wallClock(zone)).toThrow(
      `timezone must be an IANA name such as Europe/Berlin or UTC, got ${JSON.stringify(zone)}`,
    );
    expect(windowFault(`09:00-18:00 ${zone}`)).toBeDefined();
    expect(() => nextOpening(`09:00-18:00 ${zone}`, 0)).toThrow(RangeError);
  });

  it.each([
    ["europe/berlin", "Europe/Berlin"],
    ["Berlin", "Europe/Berlin"],
    ["New York", "America/New_York"],
    ["Asia/Sanghai", "Asia/Shanghai"],
    ["utc", "UTC"],
    ["CET+1", "CET"],
    ["est-5:00", "EST"],
  ])("that is written %s is told as %s", (zone, meant) => {
    expect(nearestZones(zone)).toContain(meant);
    expect(() => wallClock(zone)).toThrow("did you mean ");
  });

  it.each([
    ["GMT+3", "Etc/GMT-3, which is UTC+3"],
    ["GMT-3", "Etc/GMT+3, which is UTC-3"],
    ["UTC+03:00", "Etc/GMT-3, which is UTC+3"],
    ["+0530", undefined],
    ["GMT+5:30", undefined],
    ["-11", "Etc/GMT+11, which is UTC-11"],
    ["UTC+15", undefined],
  ])("that is written as the offset %s is told with the sign of its area: %s", (offset, meant) => {
    expect(nearestZones(offset)).toEqual(meant === undefined ? [] : [meant]);
    const zone = meant?.split(",")[0];
    const hours = Number(/[+-]\d+/.exec(offset)?.[0]);
    if (zone !== undefined) expect(wallClock(zone).at(0)).toBe(hours * 3_600_000);
  });

  it("that is short gets no suggestions", () => {
    expect(nearestZones("BST")).toEqual([]);
    expect(() => wallClock("BST")).toThrow(/got "BST"$/);
  });
});
