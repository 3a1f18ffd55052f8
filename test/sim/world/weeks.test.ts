import { expect, it } from "vitest";
import { bucketOf, sortable } from "../../../src/core/item-keys.ts";
import { attentionOf } from "../attention.ts";
import { simulatedDynamo } from "../services/dynamo.ts";
import { NO_TROUBLE } from "../services/service.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 2, 1, 9);

function entry(time: number) {
  return { pk: { S: bucketOf(time, 0) }, sk: { S: `${sortable(time)}#job` } };
}

function attention() {
  const known = attentionOf(() => NOW);
  known.written(undefined, {
    pk: { S: "cursor#0" },
    sk: { S: "cursor" },
    swept: { S: `${sortable(NOW)}#` },
  });
  return known;
}

it("ticks are needed around each entry of the pool, and an hour after the last one", () => {
  const known = attention();
  expect(known.isNeeded(NOW + 30 * MINUTE)).toBe(false);
  known.written(undefined, entry(NOW + 30 * MINUTE));
  for (const minute of [26, 30, 45]) expect(known.isNeeded(NOW + minute * MINUTE)).toBe(true);
  expect(known.isNeeded(NOW + 20 * MINUTE)).toBe(false);
  expect(known.isNeeded(NOW + 61 * MINUTE)).toBe(true);
});

it("ticks are needed while a topic is resumed or its jobs are parked, but not for those that a pause holds", () => {
  const known = attention();
  const pause = { pk: { S: "pause#orders" }, sk: { S: "pause" } };
  const parked = { pk: { S: "paused#orders#0" }, sk: { S: "job" } };
  const later = NOW + 40 * MINUTE;
  known.written(undefined, parked);
  expect(known.isNeeded(later)).toBe(true);
  known.written(undefined, { ...pause, state: { S: "paused" } });
  expect(known.isNeeded(later)).toBe(false);
  known.written(undefined, { ...pause, state: { S: "resuming" } });
  expect(known.isNeeded(later)).toBe(true);
  known.written(parked, undefined);
  known.written(undefined, { ...pause, state: { S: "resuming" }, expiresAt: { N: "1" } });
  expect(known.isNeeded(later)).toBe(false);
});

it("no tick is needed for what a bulk or a redrive has noted", () => {
  const known = attention();
  for (const kind of ["bulk", "redrive"])
    known.written(undefined, { pk: { S: `${kind}#orders#a` }, sk: { S: kind } });
  expect(known.isNeeded(NOW + 40 * MINUTE)).toBe(false);
});

it("TTL deletes each item as late as is drawn for it", () => {
  const dynamo = simulatedDynamo({
    ...{ clock: () => NOW, createdAt: NOW, pageItems: 100 },
    onWrite: () => {},
  });
  for (const sk of ["early", "late"]) {
    const Item = { pk: { S: "key" }, sk: { S: sk }, expiresAt: { N: String(NOW / 1000) } };
    dynamo.perform("PutItem", { Item }, NO_TROUBLE);
  }
  const lateOf = (_: string, sk: string) => (sk === "late" ? 48 * HOUR : 0);
  dynamo.expire(NOW + 47 * HOUR, lateOf);
  expect(dynamo.row("key", "early")).toBeUndefined();
  expect(dynamo.row("key", "late")).toBeDefined();
  dynamo.expire(NOW + 49 * HOUR, lateOf);
  expect(dynamo.row("key", "late")).toBeUndefined();
});
