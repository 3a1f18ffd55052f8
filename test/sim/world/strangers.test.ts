import { expect, it } from "vitest";
import { fromAttributes } from "../../../src/aws/attributes.ts";
import type { Item } from "../../../src/core/items.ts";
import { isUnreadable, jobIdIn, layoutTrouble, readHome } from "../../../src/core/readable.ts";
import { drawsOf } from "../draws.ts";
import { simulatedDynamo } from "../services/dynamo.ts";
import { isStranger, strangerOf } from "../strangers.ts";

const NOW = Date.UTC(2026, 2, 1, 9);

it("a stranger is an item that this code cannot read", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const row = strangerOf(drawsOf(seed, "stranger"), NOW, 2);
    const item = fromAttributes(row) as Item;
    const id = jobIdIn(item.sk);
    const isReadable =
      id !== undefined && !isUnreadable(readHome(item, id)) && layoutTrouble(item) === undefined;
    expect(isReadable, JSON.stringify(row)).toBe(false);
  }
});

it("a stranger is added and removed without a report, and the other items stay", () => {
  const told: unknown[] = [];
  const dynamo = simulatedDynamo({
    ...{ clock: () => NOW, createdAt: NOW, pageItems: 100 },
    onWrite: (...change) => told.push(change),
  });
  dynamo.plant({ pk: { S: "a" }, sk: { S: "a" } });
  dynamo.plant(strangerOf(drawsOf(1, "stranger"), NOW, 2));
  expect(dynamo.rows()).toHaveLength(2);
  dynamo.uproot(isStranger);
  expect(dynamo.rows()).toEqual([{ pk: { S: "a" }, sk: { S: "a" } }]);
  expect(told).toEqual([]);
});
