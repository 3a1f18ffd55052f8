/**
 * The ceiling's consumer (docs/internals/benchmarks.md), in a process of its own, like a Lambda environment. It receives, holds, claims,
 * settles and deletes with plain SDK calls in the batches that the protocol allows. Its handler does nothing, and any error ends it.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { BatchStatementRequest } from "@aws-sdk/client-dynamodb";
import { DeleteMessageBatchCommand, type Message, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { DAY, SQS_BATCH_ENTRIES, STATEMENT_BATCH } from "../../src/core/constants.ts";
import { homeKey } from "../../src/core/item-keys.ts";
import { chunksOf } from "../../src/general/batches.ts";
import { type Emulators, plainClients } from "./plain-clients.ts";
import { runStatements } from "./plain-table.ts";

export type PlainConsumerSettings = {
  readonly emulators: Emulators;
  readonly table: string;
  readonly queueUrl: string;
  /** How many jobs are claimed at once: the topic's `concurrency`. */
  readonly slots: number;
};

export type PlainStarts = { readonly ids: string[]; readonly at: number };

type Job = { id: string; dueAt: string; revision: number; attempt: number };
type Claimed = { id: string; token: string };

const POLL_SECONDS = 20;
const LEASE_MS = 60_000;
const RETENTION_S = (7 * DAY) / 1000;

const settings = JSON.parse(process.argv[2] ?? "") as PlainConsumerSettings;
const { dynamo, sqs } = plainClients(settings.emulators);
const { table, queueUrl, slots } = settings;

process.on("disconnect", () => process.exit());
for (;;) await consume();

async function consume(): Promise<void> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: SQS_BATCH_ENTRIES,
      WaitTimeSeconds: POLL_SECONDS,
    }),
  );
  if (Messages.length === 0) return;
  const jobs = Messages.flatMap(({ Body = "" }) => (JSON.parse(Body) as { jobs: Job[] }).jobs);
  jobs.sort((a, b) => Date.parse(a.dueAt) - Date.parse(b.dueAt));
  const settler = createSettler();
  while (jobs.length > 0) {
    const early = Date.parse(jobs[0]?.dueAt ?? "") - Date.now();
    if (early > 0) {
      // Then look at the clock again: a timer may fire a moment early.
      await sleep(early);
      continue;
    }
    const now = Date.now();
    const due = jobs.findIndex(({ dueAt }, index) => index === slots || Date.parse(dueAt) > now);
    const claimed = await claim(jobs.splice(0, due === -1 ? slots : due));
    process.send?.({ ids: claimed.map(({ id }) => id), at: Date.now() } satisfies PlainStarts);
    settler.settle(claimed);
  }
  await settler.idle();
  // The removal is not awaited, so that the next batch does not wait for it.
  void remove(Messages);
}

async function claim(jobs: readonly Job[]): Promise<Claimed[]> {
  const now = Date.now();
  const claimed = jobs.map(({ id }) => ({ id, token: randomBytes(16).toString("base64url") }));
  await runStatements(
    dynamo,
    jobs.map(({ id, revision, attempt }, index) => ({
      Statement: `UPDATE "${table}" SET "state" = ?, "token" = ?, "leaseEnd" = ?, "claimedAt" = ?, "attempt" = ? WHERE "pk" = ? AND "sk" = ? AND "revision" = ? AND "state" = ?`,
      Parameters: [
        { S: "running" },
        { S: claimed[index]?.token ?? "" },
        { N: String(now + LEASE_MS) },
        { N: String(now) },
        { N: String(attempt) },
        ...keyOf(id),
        { N: String(revision) },
        { S: "scheduled" },
      ],
    })),
  );
  return claimed;
}

/** Settles claimed jobs. Jobs that come while a call is in flight are gathered for the next call. */
function createSettler() {
  let gathered: Claimed[] = [];
  let flushing: Promise<void> = Promise.resolve();
  const flush = async (): Promise<void> => {
    const done = gathered;
    gathered = [];
    for (const batch of chunksOf(done, STATEMENT_BATCH)) await runStatements(dynamo, batch.map(settlement));
  };
  return {
    settle(claimed: readonly Claimed[]): void {
      gathered.push(...claimed);
      flushing = flushing.then(flush);
    },
    idle: () => flushing,
  };
}

function settlement({ id, token }: Claimed): BatchStatementRequest {
  const now = Date.now();
  return {
    Statement: `UPDATE "${table}" SET "state" = ?, "finishedAt" = ?, "expiresAt" = ? WHERE "pk" = ? AND "sk" = ? AND "token" = ? AND "state" = ?`,
    Parameters: [
      { S: "done" },
      { N: String(now) },
      { N: String(Math.ceil(now / 1000) + RETENTION_S) },
      ...keyOf(id),
      { S: token },
      { S: "running" },
    ],
  };
}

function keyOf(id: string): [{ S: string }, { S: string }] {
  const { pk, sk } = homeKey(id);
  return [{ S: pk }, { S: sk }];
}

async function remove(messages: readonly Message[]): Promise<void> {
  const Entries = messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
  await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
}
