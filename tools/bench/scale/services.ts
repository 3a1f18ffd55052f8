import { isLookKey } from "../../../src/core/item-keys.ts";
import { parseMessage } from "../../../src/core/message.ts";
import { type Dynamo, simulatedDynamo } from "../../../test/sim/services/dynamo.ts";
import type { Row } from "../../../test/sim/services/expressions.ts";
import { NO_TROUBLE, problem, type Service } from "../../../test/sim/services/service.ts";
import type { Timeline } from "../../../test/sim/timeline.ts";
import type { Consumers } from "./consumers.ts";
import { bytesOf, type Jobs } from "./jobs.ts";
import { AWS, type Scale } from "./limits.ts";
import type { Partitions } from "./partitions.ts";

/** What the ticks of a run use, and how many of their reads and writes were throttled. */
export type Usage = { readUnits: number; writeUnits: number; sqsRequests: number; throttles: number };

export type World = {
  readonly timeline: Timeline;
  readonly jobs: Jobs;
  readonly scale: Scale;
  readonly usage: Usage;
};

/** The job table: the virtual jobs, and beside them the items that ticks write. `put` stores an item. */
export function modelledTable(world: World, partitions: Partitions): Service & { put(row: Row): void } {
  const { timeline, scale, usage } = world;
  const admits: Admits = (what, pk, units) => {
    const isAdmitted = partitions.admits(what, pk, units);
    if (!isAdmitted) usage.throttles += 1;
    else if (what === "read") usage.readUnits += units;
    else usage.writeUnits += units;
    return isAdmitted;
  };
  // No item of a tick has more than 1 KB. An item of a bucket stands for several.
  const manyOf = (pk: string): number => (isBucket(pk) ? scale.jobs : 1);
  const stored: Dynamo = simulatedDynamo({
    clock: timeline.now,
    createdAt: timeline.now(),
    pageItems: Number.POSITIVE_INFINITY,
    capacity: { admits: (what, pk) => what === "read" || admits("write", pk, manyOf(pk)) },
    onWrite: () => {},
  });
  const reads = readsOf(world, stored, admits);
  return {
    perform: (operation, input) =>
      reads[operation]?.(input as never) ?? stored.perform(operation, input, NO_TROUBLE),
    put: stored.plant,
  };
}

type Admits = (what: "read" | "write", pk: string, units: number) => boolean;
type KeysOfTables = { RequestItems: Record<string, { Keys: Row[] }> };
type Asked = { ExpressionAttributeValues: Record<string, { S: string }>; Limit: number };

function readsOf({ jobs, scale }: World, stored: Dynamo, admits: Admits) {
  const mustRead = (pk: string, rows: readonly Row[], limit?: number): void => {
    const many = isBucket(pk) ? jobsIn(rows.length, limit, scale) / Math.max(rows.length, 1) : 1;
    const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0) * many;
    if (!admits("read", pk, Math.max(Math.ceil(bytes / AWS.readUnitBytes), 1)))
      throw problem("ProvisionedThroughputExceededException", "throttled");
  };
  const rowAt = (key: Row): Row | undefined => {
    const [pk, sk] = [key.pk?.S ?? "", key.sk?.S ?? ""];
    return isBucket(pk) && !isLookKey(sk) ? jobs.row(sk) : stored.row(pk, sk);
  };
  const reads: Record<string, (input: never) => object> = {
    GetItem({ Key }: { Key: Row }) {
      const row = rowAt(Key);
      mustRead(Key.pk?.S ?? "", row ? [row] : []);
      return row ? { Item: row } : {};
    },
    BatchGetItem({ RequestItems }: KeysOfTables) {
      const [[name, { Keys }]] = Object.entries(RequestItems) as [[string, { Keys: Row[] }]];
      const rows = Keys.map(rowAt);
      for (const [i, row] of rows.entries()) mustRead(Keys[i]?.pk?.S ?? "", row ? [row] : []);
      return { Responses: { [name]: rows.filter((row) => row !== undefined) } };
    },
    Query(input: Asked) {
      const { pk, rows, isCut } = pageOf(input, jobs, scale, stored);
      mustRead(pk, rows, input.Limit);
      const last = rows.at(-1);
      return { Items: rows, ...(isCut && last && { LastEvaluatedKey: { pk: last.pk, sk: last.sk } }) };
    },
  };
  return reads;
}

function pageOf(input: Asked, jobs: Jobs, scale: Scale, stored: Dynamo) {
  const value = (name: string): string => input.ExpressionAttributeValues[name]?.S ?? "";
  const [pk, from, before] = [value(":pk"), value(":from"), value(":before")];
  const found = stored.perform("Query", input, NO_TROUBLE) as { Items: Row[]; LastEvaluatedKey?: Row };
  const limit = Math.min(input.Limit, Math.floor(AWS.pageBytes / (bytesOf() * scale.jobs)));
  const homes = isBucket(pk) ? jobs.between(pk, from, before, limit) : { rows: [], more: false };
  const all = [...homes.rows, ...found.Items];
  if (found.Items.length > 0) all.sort((a, b) => ((a.sk?.S ?? "") < (b.sk?.S ?? "") ? -1 : 1));
  const rows = all.slice(0, limit);
  return { pk, rows, isCut: homes.more || found.LastEvaluatedKey !== undefined || all.length > rows.length };
}

/** The partition key of a bucket begins with its minute. All others begin with a word. */
function isBucket(pk: string): boolean {
  return /^\d/.test(pk);
}

/** Each of `consumers` gets all messages, as if alone; ticks see the first's queue. `sent`: a job's first send. `again`: any other. */
export function modelledQueue(
  { timeline, jobs, scale, usage }: World,
  consumers: readonly Consumers[],
  { sent, again }: { sent: (dueAt: number) => void; again: () => void },
): Service {
  const operations: Record<string, (input: never) => object> = {
    SendMessageBatch({ Entries }: { Entries: { MessageBody: string; DelaySeconds: number }[] }) {
      usage.sqsRequests += requestsFor(Entries.length, scale);
      for (const { MessageBody, DelaySeconds } of Entries) {
        const message = parseMessage(MessageBody);
        if (!message) throw new Error(`no consumer can read this message: ${MessageBody}`);
        const carried = message.jobs.map(({ id }) => jobs.job(id));
        for (const job of carried) {
          if (jobs.send(job)) sent(job.dueAt);
          else again();
        }
        for (const one of consumers) one.receive(carried, timeline.now() + DelaySeconds * 1000);
      }
      return {};
    },
    GetQueueAttributes({ QueueUrl }: { QueueUrl: string }) {
      usage.sqsRequests += 1;
      const { ready = 0, delayed = 0 } = QueueUrl.endsWith("_dlq") ? {} : (consumers[0]?.depth() ?? {});
      return {
        Attributes: {
          ApproximateNumberOfMessages: String(ready),
          ApproximateNumberOfMessagesDelayed: String(delayed),
        },
      };
    },
  };
  return {
    perform(operation, input) {
      const run = operations[operation];
      if (!run) throw new Error(`the model has no ${operation} of SQS`);
      return run(input as never);
    },
  };
}

/** If a bucket has more rows than the pool wants, a page has one row more (`src/aws/read.ts`). This row stands for itself. */
export function jobsIn(rows: number, limit: number | undefined, { jobs }: Scale): number {
  return rows === limit ? (rows - 1) * jobs + 1 : rows * jobs;
}

/** Answers how many requests to SQS a request with this many modelled messages stands for. */
export function requestsFor(messages: number, { jobs, jobsARequest }: Scale): number {
  return jobs === 1 ? 1 : (messages * jobs) / jobsARequest;
}
