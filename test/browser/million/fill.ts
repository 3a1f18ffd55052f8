import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { openTableStore } from "../../../local/services/dynamodb/table-store.ts";
import type { Item } from "../../../local/services/dynamodb/values.ts";
import { toAttributes } from "../../../src/aws/attributes.ts";
import type { Home } from "../../../src/core/home.ts";
import { homeKey } from "../../../src/core/item-keys.ts";
import { ITEM_VERSION } from "../../../src/core/items.ts";
import { drawJobId } from "../../../src/core/job-id.ts";

const DAY = 24 * 3600 * 1000;
/** How many homes one transaction of SQLite writes. */
const TOGETHER = 20_000;
const TOPICS = ["reminders", "reminders", "reminders", "work", "precise"];

/** As if producers had filed them, over a day from `from` (ms since the epoch). Throws if the stack has never run, and so has no table. */
export function fillTable(dataDir: string, jobs: number, from: number): void {
  const store = openTableStore(join(dataDir, "dynamodb-portable.sqlite"));
  try {
    const [table] = store.tables();
    if (table === undefined) throw new Error(`${dataDir} has no table`);
    for (let first = 0; first < jobs; first += TOGETHER) {
      store.together(() => {
        for (let index = first; index < Math.min(first + TOGETHER, jobs); index++)
          store.put(
            table,
            toAttributes(homeOf(index, from + Math.floor((index / jobs) * DAY), from)) as Item,
          );
      });
    }
  } finally {
    store.close();
  }
}

function homeOf(index: number, dueAt: number, now: number): Home {
  const id = drawJobId(dueAt, 1, randomBytes);
  return {
    ...homeKey(id),
    v: ITEM_VERSION,
    id,
    topic: TOPICS[index % TOPICS.length] ?? "work",
    body: JSON.stringify({ orderId: `${index}`, shop: "Berlin", lines: [{ article: "shoe", count: 2 }] }),
    state: "scheduled",
    dueAt,
    wantedAt: dueAt,
    revision: 0,
    attempt: 0,
    createdAt: now,
    tag: `batch-${index % 10}`,
  };
}
