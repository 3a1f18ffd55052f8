import { expect, test } from "vitest";
import { ownPlaceOf } from "../../src/environment/thrown-text.ts";

const ROOT = "/var/task";
const placeOf = (...frames: string[]) =>
  ownPlaceOf(
    { message: "no bank", stack: ["Error: no bank", ...frames.map((at) => `    at ${at}`)].join("\n") },
    ROOT,
  );

test.each([
  ["a named function", "charge (/var/task/src/pay.ts:12:9)", "src/pay.ts:12"],
  ["an anonymous one", "/var/task/pay.ts:3:1", "pay.ts:3"],
  ["an anonymous asynchronous one", "async file:///var/task/pay.ts:3:1", "pay.ts:3"],
  ["an asynchronous one", "async Object.handler (file:///var/task/my%20pay.ts:3:1)", "my pay.ts:3"],
  ["a function of another folder", "pay (/var/shared/pay.ts:3:1)", "../shared/pay.ts:3"],
  [
    "a path that is too long",
    `pay (/var/task/${"deep/".repeat(20)}pay.ts:3:1)`,
    `${"deep/".repeat(6)}pay.ts:3`,
  ],
])("the place of %s is its file and line", (_, frame, place) => {
  expect(placeOf(frame)).toBe(place);
});

test("frames of Node, of packages and without a file are passed over", () => {
  const others = [
    "JSON.parse (<anonymous>)",
    "process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
    "send (/var/task/node_modules/axios/index.js:1:2)",
    "run (/var/node_modules/minutehand/consumer/run-handler.js:50:13)",
  ];
  expect(placeOf(...others, "charge (/var/task/pay.ts:12:9)")).toBe("pay.ts:12");
  expect(placeOf(...others)).toBeUndefined();
  expect(ownPlaceOf({ message: "7" }, ROOT)).toBeUndefined();
});

test("frames of a minified bundle without a source map give no place", () => {
  expect(placeOf("gB (file:///var/task/index.mjs:55:24717)")).toBeUndefined();
});

test("an error with frames of packages only has the place of its cause", () => {
  const cause = { message: "b", stack: "Error: b\n    at charge (/var/task/pay.ts:12:9)" };
  expect(ownPlaceOf({ message: "a", stack: "Error: a\n    at node:net:1:2", cause }, ROOT)).toBe("pay.ts:12");
});

test("a message that looks like a frame gives no place", () => {
  const message = "x\n    at charge (/var/task/secret.ts:12:9)";
  expect(ownPlaceOf({ message, stack: `Error: ${message}\n    at pay (/var/task/pay.ts:3:1)` }, ROOT)).toBe(
    "pay.ts:3",
  );
});
