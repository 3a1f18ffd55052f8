import { expect, test } from "vitest";
import { parseTraceparent, traceparentOf } from "../../src/core/traceparent.ts";

const [TRACE, SPAN] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
const GOOD = `00-${TRACE}-${SPAN}-01`;

test("a traceparent names a trace, a span and flags", () => {
  expect(parseTraceparent(GOOD)).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags: 1 });
  expect(traceparentOf({ traceId: TRACE, spanId: SPAN, traceFlags: 1 })).toBe(GOOD);
  expect(parseTraceparent(`cc-${TRACE}-${SPAN}-ff`)).toMatchObject({ traceFlags: 255 });
});

test.each([
  ["empty", ""],
  ["of a version that does not exist", `ff-${TRACE}-${SPAN}-01`],
  ["without a trace", `00-${"0".repeat(32)}-${SPAN}-01`],
  ["without a span", `00-${TRACE}-${"0".repeat(16)}-01`],
  ["in upper case", GOOD.toUpperCase()],
  ["too long", `${GOOD}-x`],
  ["too short", GOOD.slice(0, -1)],
  ["two in one header", `${GOOD}, ${GOOD}`],
  ["with a line break", `${GOOD}\n`],
  ["with other digits", GOOD.replace("4bf9", "4bg9")],
])("a traceparent is ignored: %s", (_, text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

test("a span that names no trace has no traceparent", () => {
  expect(traceparentOf({ traceId: "0".repeat(32), spanId: "0".repeat(16), traceFlags: 0 })).toBeUndefined();
});
