import { sizeOfItem } from "../../../local/services/dynamodb/values.ts";
import { toAttributes } from "../../../src/aws/attributes.ts";
import { BUCKET, DAY, MAX_SHARDS } from "../../../src/core/constants.ts";
import type { Home } from "../../../src/core/home.ts";
import { bucketOf, homeKey, minuteOf, ttl } from "../../../src/core/item-keys.ts";
import { ITEM_VERSION } from "../../../src/core/items.ts";
import { addressOf, drawJobId } from "../../../src/core/job-id.ts";
import type { Row } from "../../../test/sim/services/expressions.ts";
import { BODY } from "../jobs.ts";

export const TOPIC = "orders";
const BODY_TEXT = JSON.stringify(BODY);
/** The decimal digits that name a job in the random part of its id. */
const DIGITS = 14;

/** `count` jobs are due between `from` and `from + span`, evenly spread: ms since the epoch, within one minute. */
export type Due = { readonly count: number; readonly from: number; readonly span: number };
export type Load = (minute: number) => Due | undefined;

export type Job = { readonly bucket: Bucket; readonly index: number; readonly dueAt: number };
type Bucket = { readonly pk: string; readonly count: number; readonly states: Uint8Array };
/** The states of a job after `WAITING` (0), in their order. */
const SENT = 1;
const DONE = 2;

/** The jobs of a table, which are made when they are read. So ten million of them need a byte each, once they are read. */
export type Jobs = {
  /** The rows of a bucket between two positions, at most `limit`, and whether there are more. */
  between(pk: string, from: string, before: string, limit: number): { rows: Row[]; more: boolean };
  row(sk: string): Row | undefined;
  job(id: string): Job;
  send(job: Job): boolean;
  finish(job: Job): void;
  finishAll(): void;
};

/** `jobs`: how many jobs each modelled job stands for. */
export function virtualJobs(load: Load, shards: number, jobs: number): Jobs {
  const { bucketAt, open } = bucketsOf(load, shards, jobs);
  let areAllDone = false;
  const isDone: IsDone = ({ states }, index) => areAllDone || states[index] === DONE;
  return {
    between: (pk, from, before, limit) => rowsBetween(open(pk), isDone, { from, before, limit }),
    row(sk) {
      const [, id = ""] = sk.split("#");
      const { time, shard } = addressOf(id);
      const { bucket, idAt } = open(bucketOf(time, shard));
      const index = indexIn(id);
      if (index >= bucket.count || idAt(index) !== id) return undefined;
      return rowOf(id, isDone(bucket, index));
    },
    job(id) {
      const { time, shard } = addressOf(id);
      return { bucket: bucketAt(minuteOf(time), shard), index: indexIn(id), dueAt: time };
    },
    send: (job) => raise(job, SENT),
    finish: (job) => void raise(job, DONE),
    finishAll() {
      areAllDone = true;
    },
  };
}

type IsDone = (bucket: Bucket, index: number) => boolean;
/** A bucket, and the ids of its jobs by their numbers in it. */
type OpenBucket = { readonly bucket: Bucket; readonly idAt: (index: number) => string };

/** The buckets, each of which is made when it is first used and has a job. */
function bucketsOf(load: Load, shards: number, jobs: number) {
  const buckets = new Map<string, Bucket>();
  // The shards take the modelled jobs in turns, from minute to minute. `first`: the bucket's first job, by its number in the minute.
  const placeOf = (minute: number, shard: number) => {
    const due = load(minute);
    const all = due ? Math.round(due.count / jobs) : 0;
    const turn = ((minute / BUCKET) * all) % shards;
    const first = (shard - turn + shards) % shards;
    return { due, all, first, count: Math.max(Math.ceil((all - first) / shards), 0) };
  };
  const bucketAt = (minute: number, shard: number): Bucket => {
    const pk = bucketOf(minute, shard);
    const known = buckets.get(pk);
    if (known) return known;
    const { count } = placeOf(minute, shard);
    const bucket = { pk, count, states: new Uint8Array(count) };
    if (count > 0) buckets.set(pk, bucket);
    return bucket;
  };
  const open = (pk: string): OpenBucket => {
    const [time = "", number = ""] = pk.split("#");
    const [minute, shard] = [Date.parse(`${time}Z`), Number(number)];
    const { due, all, first } = placeOf(minute, shard);
    const idAt = (index: number): string => {
      const dueAt = due ? due.from + Math.floor(((index * shards + first) * due.span) / all) : minute;
      return drawJobId(dueAt, MAX_SHARDS, () => tailOf(shard, index));
    };
    return { bucket: bucketAt(minute, shard), idAt };
  };
  return { bucketAt, open };
}

function rowsBetween(
  { bucket, idAt }: OpenBucket,
  isDone: IsDone,
  { from, before, limit }: { from: string; before: string; limit: number },
): { rows: Row[]; more: boolean } {
  let [begin, end] = [0, bucket.count];
  while (begin < end) {
    const middle = (begin + end) >> 1;
    if (homeKey(idAt(middle)).sk <= from) begin = middle + 1;
    else end = middle;
  }
  const rows: Row[] = [];
  for (let index = begin; index < bucket.count; index++) {
    const row = rowOf(idAt(index), isDone(bucket, index));
    if ((row.sk?.S ?? "") > before) break;
    if (rows.length === limit) return { rows, more: true };
    rows.push(row);
  }
  return { rows, more: false };
}

function raise({ bucket, index }: Job, state: number): boolean {
  const isLower = (bucket.states[index] ?? state) < state;
  if (isLower) bucket.states[index] = state;
  return isLower;
}

/** The random bytes with which `drawJobId` draws an id of this shard that ends with the index in decimal digits. */
function tailOf(shard: number, index: number): Uint8Array {
  const digits = String(index).padStart(DIGITS, "0");
  return Uint8Array.from({ length: DIGITS + 2 }, (_, i) =>
    i === 0 ? shard >> 8 : i === 1 ? shard & 255 : Number(digits[i - 2]),
  );
}

function indexIn(id: string): number {
  return Number(id.slice(-DIGITS));
}

function rowOf(id: string, isDone: boolean): Row {
  const dueAt = addressOf(id).time;
  const home: Home = {
    ...homeKey(id),
    v: ITEM_VERSION,
    id,
    topic: TOPIC,
    body: BODY_TEXT,
    dueAt,
    wantedAt: dueAt,
    revision: 0,
    attempt: isDone ? 1 : 0,
    createdAt: dueAt - DAY,
    ...(isDone
      ? {
          state: "done",
          ...{ token: "0".repeat(22), sentAt: dueAt - BUCKET, claimedAt: dueAt, leaseEnd: dueAt + BUCKET },
          ...{ finishedAt: dueAt, settledBy: `done:${"0".repeat(22)}`, expiresAt: ttl(dueAt + 7 * DAY) },
        }
      : { state: "scheduled" }),
  };
  return toAttributes(home) as Row;
}

/** The bytes of a home that waits, of a home whose job is done, and of any other item of the tick, as DynamoDB counts them. */
const SAMPLE = drawJobId(Date.UTC(2026, 0), 1, () => tailOf(0, 0));
export const WAITING_BYTES = sizeOfItem(rowOf(SAMPLE, false) as never);
const DONE_BYTES = sizeOfItem(rowOf(SAMPLE, true) as never);
const OTHER_BYTES = 200;

/** The bytes of a row. Absent: those of a home that waits. */
export function bytesOf(row?: Row): number {
  if (row === undefined || row.state?.S === "scheduled") return WAITING_BYTES;
  return row.state ? DONE_BYTES : OTHER_BYTES;
}
