import { expect, test } from "vitest";
import { beforeTime, justAfter } from "../../core/position.ts";
import { type TickPart, tickPartIn, tickPartText } from "../../core/tick-part.ts";

const ranges = [
  { from: beforeTime(1_772_355_600_000), to: justAfter("1772355700000#01KJMB53G0003QY60MG7CA6H5Q") },
];

test.each<Partial<TickPart>>([{}, { ranges: [] }, { ranges }])(
  "a part is read as it was written: %j",
  (more) => {
    const part = {
      shards: [0, 7, 1023],
      behind: ["orders"],
      hung: ["queue"],
      until: 1_772_355_600_000,
      ...more,
    };
    expect(tickPartIn(JSON.parse(tickPartText(part)))).toEqual(part);
  },
);

test.each([undefined, null, "shards", {}, { source: "aws.events" }])("%j asks for a whole tick", (event) => {
  expect(tickPartIn(event)).toBeUndefined();
});

test.each([
  [{ shards: "all", until: 1 }, "shards must be whole numbers from 0 to 1023"],
  [{ shards: [1024], until: 1 }, "shards must be whole numbers from 0 to 1023"],
  [{ shards: [-1], until: 1 }, "shards must be whole numbers from 0 to 1023"],
  [{ shards: [0.5], until: 1 }, "shards must be whole numbers from 0 to 1023"],
  [{ shards: [0], until: 1 }, "behind and hung must be lists of texts"],
  [{ shards: [0], behind: [1], hung: [], until: 1 }, "behind and hung must be lists of texts"],
  [{ shards: [0], behind: [], until: 1 }, "behind and hung must be lists of texts"],
  [{ shards: [0], behind: [], hung: "queue", until: 1 }, "behind and hung must be lists of texts"],
  [{ shards: [0], behind: [], hung: [] }, "until must be ms since the epoch"],
  [{ shards: [0], behind: [], hung: [], until: "soon" }, "until must be ms since the epoch"],
  [{ shards: [0], behind: [], hung: [], until: 0.5 }, "until must be ms since the epoch"],
  ...[1, [1], [{}], [{ from: "1772355600000" }], [{ from: "now", to: "1772355600000" }]].map(
    (wrong): [object, string] => [
      { shards: [0], ranges: wrong, behind: [], hung: [], until: 1 },
      "ranges must be a list of ranges, each with the positions from and to",
    ],
  ),
])("%j is refused", (event, message) => {
  expect(() => tickPartIn(event)).toThrow(message);
});
