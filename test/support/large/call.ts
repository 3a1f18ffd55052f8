import { DAY } from "../../../src/core/constants.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { type BulkAction, beginBulk } from "../../../src/protocol/change/begin-bulk.ts";
import { runBulk } from "../../../src/protocol/change/bulk.ts";
import { cancelMany } from "../../../src/protocol/change/cancel.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import type { Context, Queues } from "../../../src/protocol/ports.ts";
import { deadPage } from "../../../src/protocol/read/dead-jobs.ts";
import { forecast } from "../../../src/protocol/read/forecast.ts";
import { listJobs } from "../../../src/protocol/read/list.ts";
import { memoryQueues } from "../../../src/testing/memory-queues.ts";
import { seededBytes } from "../../../src/testing/random.ts";
import { idsOf, type LargeTable, largePool } from "./large-table.ts";

/** Makes one call of the API over jobs with large bodies. It is a separate process, so that a test can set the size of its heap. */

const MINUTE = 60_000;
const now = Date.UTC(2026, 2, 1, 9);
const soon = { from: now + 10 * MINUTE, to: now + 20 * MINUTE };
const LARGE: LargeTable = {
  now,
  shards: 32,
  bodyBytes: 200 * 1024,
  homes: 10,
  looks: 20,
  state: "scheduled",
  deadToday: 100,
};

const DEAD: LargeTable = { ...LARGE, state: "dead" };

function contextOf(table: LargeTable): Context {
  const policy = {
    shards: table.shards,
    retention: 7 * 86_400,
    deadRetention: 90 * 86_400,
    topics: { orders: {} },
  };
  const clock = () => now;
  const queues: Queues = {
    ...memoryQueues({ clock, topics: ["orders"] }),
    send: async (_, messages) => messages.map(() => ({ outcome: "sent" })),
  };
  const pool = largePool(table);
  // A bulk works page by page, so more pages would take more time but no more memory.
  const sizes = { ...SIZES, bulkJobs: 50 };
  return { pool, queues, clock, random: seededBytes(3), policy, sizes, report: () => {} };
}

async function bulk(action: BulkAction): Promise<object> {
  const ctx = contextOf(action === "redrive" ? DEAD : LARGE);
  const range = action === "redrive" ? { from: now - DAY, to: now } : soon;
  const begun = beginBulk(ctx, action, range, now + DAY);
  return runBulk(ctx, { action, topic: "orders", dryRun: false }, begun);
}

const calls: Record<string, () => Promise<object>> = {
  list: () => listJobs(contextOf(LARGE), { ...soon, limit: 1000 }),
  "list of the dead": () => deadPage(contextOf(DEAD), { topic: "orders", limit: 1000 }),
  forecast: () => forecast(contextOf({ ...LARGE, homes: 5, looks: 50 }), { ...soon, to: soon.from + MINUTE }),
  "bulk cancel": () => bulk("cancel"),
  "bulk move": () => bulk("move"),
  "bulk run": () => bulk("run"),
  "bulk redrive": () => bulk("redrive"),
  "cancel of 500": () => cancelMany(contextOf(LARGE), idsOf(LARGE, 500)),
  "redrive of 500": () => redrive(contextOf(DEAD), "orders", { ids: idsOf(DEAD, 500), max: 500, delay: DAY }),
};

const name = process.argv[2] ?? "";
const call = calls[name];
if (!call) throw new Error(`one of ${Object.keys(calls).join(", ")} must be named, got ${name}`);
await call();
console.log(`${name} is answered`);
