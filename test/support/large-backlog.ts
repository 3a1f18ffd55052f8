import { setTimeout as wait } from "node:timers/promises";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { sqsQueues } from "../../src/aws/queues.ts";
import { BODY_BYTES, MAX_SHARDS } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { homeKey, lookAt, parkedKey } from "../../src/core/item-keys.ts";
import type { Item, Key, Parked } from "../../src/core/items.ts";
import { addressOf, drawJobId } from "../../src/core/job-id.ts";
import { pauseTopic, resumeTopic } from "../../src/protocol/change/pause.ts";
import { listLimited } from "../../src/protocol/gate/limited-topics.ts";
import { tick } from "../../src/protocol/hand-over/tick.ts";
import type { Context, Pool } from "../../src/protocol/ports.ts";
import { createWorld, MINUTE } from "./world.ts";

/**
 * A program of its own, to have the memory of the deployed function: one tick over jobs that are made when they are read. Arguments:
 * `homes`, `looks`, or `parked` (looks, and parked jobs of many topics with a resume or a limit); ms that the tick may work. Prints the
 * messages sent, the parked jobs released, and the peak memory.
 */
const [kind, time] = [process.argv[2], Number(process.argv[3])];

const SHARDS = 64;
const OUTAGE = 20 * MINUTE;
const JOBS_A_MINUTE = 500;
/** DynamoDB's limit for one answer. */
const PAGE_BYTES = 1024 * 1024;
const ANSWER_AFTER = 5;
/** The memory of the deployed function (infra/tick.ts). */
const MEMORY = 1024 * 1024 * 1024;
/** It has a character outside of Latin-1, so the engine stores each of its characters in two bytes. */
const LARGEST = JSON.stringify(`€${"x".repeat(BODY_BYTES - 8)}`);
const BODIES = [LARGEST, JSON.stringify("x".repeat(2_000)), JSON.stringify("x".repeat(20_000))];

const PARKED = Array.from({ length: kind === "parked" ? 40 : 0 }, (_, i) => `parked-${i}`);
const isLimited = (topic: string): boolean => topic.endsWith("0");

const topics = Object.fromEntries(
  PARKED.map((topic) => [topic, isLimited(topic) ? { maxPerSecond: 1000 } : {}]),
);
const world = createWorld({
  shards: SHARDS,
  topics: { orders: {}, slow: { consumer: "pull" }, ...topics },
});
for (const topic of PARKED) {
  if (isLimited(topic)) await listLimited(world.ctx, topic, world.now() + MINUTE);
  else await pauseTopic(world.ctx, topic);
}
await world.tick();
const sweptBefore = sweptOf();
await world.pass(OUTAGE, { ticks: false });
for (const topic of PARKED) await resumeTopic(world.ctx, topic, undefined);
const before = process.cpuUsage();
/** Goes on only while this process works, so the tick has the same time on a busy machine. */
const clock = (): number => {
  const { user, system } = process.cpuUsage(before);
  return world.now() + (user + system) / 1000;
};

function sweptOf(): string[] {
  return world.pool.items().flatMap((item) => ("swept" in item ? `${item.swept} ${item.ahead ?? ""}` : []));
}

/** Makes an answer as a real client does: from bytes to text, then to items. */
async function answered<T>(value: T): Promise<T> {
  const bytes = Buffer.from(JSON.stringify(value));
  await wait(ANSWER_AFTER);
  if (process.memoryUsage.rss() > MEMORY) throw new Error("the tick uses more memory than its function has");
  return JSON.parse(bytes.toString());
}

function homeOf(id: string, dueAt: number, body: string, topic = dueAt % 2 === 0 ? "orders" : "slow"): Home {
  const times = { dueAt, wantedAt: dueAt, createdAt: dueAt };
  return { ...homeKey(id), v: 1, id, topic, body, state: "scheduled", revision: 0, attempt: 0, ...times };
}

function idOf(shard: number, time: number, i: number): string {
  const tail = Uint8Array.from({ length: 16 }, (_, at) =>
    at === 0 ? shard >> 8 : at === 1 ? shard & 255 : i,
  );
  return drawJobId(time, MAX_SHARDS, () => tail);
}

function entryOf(shard: number, minute: number, i: number): Item {
  const dueAt = minute + 1 + i * 97;
  // The home of a look was filed half an hour earlier.
  const filedAt = kind === "homes" ? dueAt : dueAt - OUTAGE - 10 * MINUTE;
  const id = idOf(shard, filedAt, i);
  const body = BODIES[(minute / MINUTE) % BODIES.length] ?? LARGEST;
  return kind === "homes" ? homeOf(id, dueAt, body) : lookAt(id, dueAt);
}

/** A topic's parked jobs are 97 ms apart, and each topic has its own ms of these intervals. So the time of a parked job tells its topic. */
const parkedFrom = world.now() - OUTAGE;

function noteOf(pk: string, i: number): Parked {
  const [, topic = "", shard] = pk.split("#");
  const id = idOf(Number(shard), parkedFrom + i * 97 + PARKED.indexOf(topic), i);
  return { ...parkedKey(parkedJob(id)), v: 1, id, revision: 0 };
}

function parkedJob(id: string): Home {
  const { time } = addressOf(id);
  return homeOf(id, time, LARGEST, PARKED[(time - parkedFrom) % 97]);
}

const isParked = (id: string): boolean => addressOf(id).time >= parkedFrom && kind === "parked";
const isBucket = (pk: string): boolean => /^\d{4}-/.test(pk);
const pool: Pool = {
  ...world.pool,
  async page(pk, from, before, limit) {
    const isNotes = pk.startsWith("paused#");
    if (!isBucket(pk) && !isNotes) return world.pool.page(pk, from, before, limit);
    const [minute = "", shard = ""] = pk.split("#");
    const items: Item[] = [];
    let bytes = 0;
    for (let i = 0; i < JOBS_A_MINUTE; i++) {
      const item = isNotes ? noteOf(pk, i) : entryOf(Number(shard), Date.parse(`${minute}Z`), i);
      if (item.sk < from) continue;
      if (item.sk > before) break;
      if (items.length === limit || bytes > PAGE_BYTES) return answered({ items, more: true });
      items.push(item);
      bytes += "body" in item ? item.body.length : 100;
    }
    return answered({ items, more: false });
  },
  async read(keys) {
    const homes = (part: readonly Key[]): Home[] =>
      part.map(({ sk }) => {
        const id = sk.split("#")[1] ?? "";
        if (isParked(id)) return parkedJob(id);
        return homeOf(id, addressOf(id).time + OUTAGE + 10 * MINUTE, LARGEST);
      });
    if (!keys.every(({ pk }) => isBucket(pk))) return world.pool.read(keys);
    // DynamoDB's answers have at most 16 MB, so a part has 80 large jobs. All parts are read at once, as in src/aws/read.ts.
    const parts: (readonly Key[])[] = [];
    for (let i = 0; i < keys.length; i += 80) parts.push(keys.slice(i, i + 80));
    return (await Promise.all(parts.map((part) => answered(homes(part))))).flat();
  },
  async changeMany(changes) {
    await answered(changes);
    return changes.map(() => "changed");
  },
};

let messages = 0;
let released = 0;
const report: Context["report"] = (event) => {
  if (event.type === "released") released += event.jobs;
};
const client = {
  async send({ input }: { input: { Entries: object[] } }) {
    const bytes = Buffer.from(JSON.stringify(input));
    await wait(ANSWER_AFTER);
    messages += bytes.length > 0 ? input.Entries.length : 0;
    return {};
  },
};
const queues = sqsQueues({ client: client as unknown as SQSClient, urlPrefix: "http://localhost/queue-" });

await tick({ ...world.ctx, pool, queues, clock, report }, clock() + time);
const swept = sweptOf();
const moved = swept.filter((position, i) => position > (sweptBefore[i] ?? "")).length;
const peakMiB = Math.round(process.resourceUsage().maxRSS / 1024);
console.log(JSON.stringify({ messages, peakMiB, moved, released }));
