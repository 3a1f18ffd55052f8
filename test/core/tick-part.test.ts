import { expect, test } from "vitest";
import { tickPartIn, tickPartText } from "../../src/core/tick-part.ts";

test("a part is read as it was written", () => {
  const part = { shards: [0, 7, 1023], hung: ["queue"], until: 1_772_355_600_000 };
  expect(tickPartIn(JSON.parse(tickPartText(part)))).toEqual(part);
});

test.each([undefined, null, "shards", {}, { source: "aws.events" }])("%j asks for a whole tick", (event) => {
  expect(tickPartIn(event)).toBeUndefined();
});

test.each([
  [{ shards: "all", until: 1 }, "shards must be whole numbers from 0 to 1023"],
  [{ shards: [1024], until: 1 }, "shards must be whole numbers from 0 to 1023"],
  [{ shards: [-1], until: 1 }, "shards must be whole numbers from 0 to 1023"],
  [{ shards: [0.5], until: 1 }, "shards must be whole numbers from 0 to 1023"],
  [{ shards: [0], until: 1 }, "hung must be a list of texts"],
  [{ shards: [0], hung: [1], until: 1 }, "hung must be a list of texts"],
  [{ shards: [0], hung: "queue", until: 1 }, "hung must be a list of texts"],
  [{ shards: [0], hung: [] }, "until must be ms since the epoch"],
  [{ shards: [0], hung: [], until: "soon" }, "until must be ms since the epoch"],
  [{ shards: [0], hung: [], until: 0.5 }, "until must be ms since the epoch"],
])("%j is refused", (event, message) => {
  expect(() => tickPartIn(event)).toThrow(message);
});
