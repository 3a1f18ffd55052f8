import { bucketOf, sortable } from "../../src/core/item-keys.ts";
import { ITEM_VERSION } from "../../src/core/items.ts";
import { addressOf, drawJobId } from "../../src/core/job-id.ts";
import type { Draws } from "./draws.ts";
import type { Row } from "./services/expressions.ts";
import type { World } from "./world.ts";

const MINUTE = 60_000;
/** The due time of such an item lies between `before` ms ago and `after` ms ahead. */
const DUE = { before: 2 * MINUTE, after: 15 * MINUTE };
const MOST = 4;
const KINDS = [
  "newer",
  "unsaid version",
  "wrong field",
  "wrong state",
  "wrong id",
  "no entry",
  "newer look",
] as const;

const MARK = "stranger";

export function isStranger(row: Row | undefined): boolean {
  return row?.[MARK] !== undefined;
}

/** Adds, in some histories, items that the code cannot read and no process may change. All other jobs must keep their promises. */
export function strangers(world: World): void {
  const { timeline, plan, dynamo, trace } = world;
  const draws = world.draws("strangers");
  // None without faults, because there the budget counts calls.
  const count = plan.weather !== "calm" && draws.chance(0.15) ? draws.whole(1, MOST) : 0;
  for (let n = 1; n <= count; n++) {
    const own = world.draws(`stranger ${n}`);
    const time = timeline.now() + own.next() * world.stretch.span;
    if (world.isLeftOut(`stranger:${n}`)) continue;
    timeline.at(time, () => {
      const row = strangerOf(own, timeline.now(), world.policy.shards);
      trace(() => `a stranger: ${JSON.stringify(row)}`);
      dynamo.plant(row);
    });
  }
  // As if the newer version had been deployed again.
  if (count > 0) timeline.at(plan.calmFrom, () => dynamo.uproot(isStranger));
}

export function strangerOf(draws: Draws, now: number, shards: number): Row {
  const dueAt = now + draws.whole(-DUE.before, DUE.after);
  const bytes = (length: number) => Uint8Array.from({ length }, () => draws.whole(0, 255));
  const id = drawJobId(dueAt, shards, bytes);
  const { shard } = addressOf(id);
  const number = (value: number) => ({ N: String(value) });
  const home: Row = {
    pk: { S: bucketOf(dueAt, shard) },
    sk: { S: `${sortable(dueAt)}#${id}` },
    v: number(ITEM_VERSION),
    id: { S: id },
    topic: { S: "orders" },
    body: { S: "{}" },
    state: { S: "scheduled" },
    ...{ dueAt: number(dueAt), wantedAt: number(dueAt), createdAt: number(now) },
    ...{ revision: number(0), attempt: number(0) },
    [MARK]: { S: "true" },
  };
  const change: Record<(typeof KINDS)[number], Row> = {
    newer: { v: number(ITEM_VERSION + 1) },
    "unsaid version": { v: { S: "one" } },
    "wrong field": draws.pick<Row>([{ dueAt: { S: "soon" } }, { attempt: number(-1) }, { body: number(1) }]),
    "wrong state": { state: { S: "dreaming" } },
    "wrong id": { id: { S: "nobody" } },
    "no entry": { sk: { S: `${sortable(dueAt)}#` } },
    "newer look": { sk: { S: `${sortable(dueAt)}#${id}#look` }, v: number(ITEM_VERSION + 1) },
  };
  return { ...home, ...change[draws.pick(KINDS)] };
}
