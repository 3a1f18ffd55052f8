import { zoneNames } from "./zone-names.ts";

/** Offsets take the place of names: JavaScript writes `+01:00`, and Java `UTC+01:00`. */
const OFFSET_ZONE = /^(?:UTC|GMT|UT)?([+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Answers the rule that a zone breaks in a time with this offset: the zone is unknown, or its clock has another offset at `instant`. */
export function zoneRule(zone: string, offset: string, instant: number): string | undefined {
  const [, fixed] = OFFSET_ZONE.exec(zone) ?? [];
  // Suggests no name: programs print these names, and a batch of unknown ones would take seconds.
  if (fixed === undefined && !zoneNames().has(zone))
    return `must have an IANA name or an offset as its zone, got ${JSON.stringify(zone)}`;
  // `Z` and `-00:00` say the time in UTC, and nothing of the zone's clock (RFC 9557, "Inconsistent time-offset and Time Zone Information").
  if (offset === "Z" || offset === "-00:00") return undefined;
  const actual = fixed ?? offsetOf(zone, instant);
  return actual === offset
    ? undefined
    : `must have the offset of its zone: ${zone} has ${actual} then, not ${offset}`;
}

/** A format takes a millisecond to make. There are some hundred zones. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** Before 1972 some clocks had an offset with seconds: it is rounded to minutes, as JavaScript prints it. */
function offsetOf(zone: string, instant: number): string {
  const format =
    formats.get(zone) ?? new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
  formats.set(zone, format);
  const name = format.formatToParts(instant).find(({ type }) => type === "timeZoneName")?.value ?? "";
  const [, sign = "+", hours = "00", minutes = "00", seconds = "00"] =
    /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(name) ?? [];
  const whole = Number(hours) * 60 + Number(minutes) + (Number(seconds) >= 30 ? 1 : 0);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${sign}${two(Math.floor(whole / 60))}:${two(whole % 60)}`;
}
