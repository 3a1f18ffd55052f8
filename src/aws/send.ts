import {
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { assertWhole } from "../core/check.ts";
import { SQS_BATCH_BYTES, SQS_BATCH_ENTRIES, SQS_MAX_DELAY } from "../core/constants.ts";
import { batchesOf, inParallel } from "../general/batches.ts";
import type { Outgoing, Sent } from "../protocol/ports.ts";
import { isContentError, outcomeOfEntry, outcomeOfError } from "./send-outcomes.ts";

type Destination = { client: SQSClient; url: string; onRequest: (messages: number) => void };

/** How many batches are in flight at once. */
const WIDTH = 8;
const TRIES = 3;

/** Answers in the order of the messages. Throws only for a delay outside SQS's range, a bug of the caller. */
export async function sendMessages(messages: readonly Outgoing[], destination: Destination): Promise<Sent[]> {
  for (const { delaySeconds } of messages) assertWhole("delaySeconds", delaySeconds, 0, SQS_MAX_DELAY / 1000);
  const results = messages.map(({ body }) => refusalOf(body));
  const fit = [...messages.keys()].filter((index) => results[index] === undefined);
  const sizeOf = (index: number) => Buffer.byteLength(messages[index]?.body ?? "");
  const batches = batchesOf(fit, sizeOf, { count: SQS_BATCH_ENTRIES, bytes: SQS_BATCH_BYTES });
  // A batch that ends as `unreachable` has usually waited for all timeouts. Batches that have not begun would wait just as long.
  let unreachable: Sent | undefined;
  await inParallel(batches, WIDTH, async (batch) => {
    const sent =
      unreachable === undefined
        ? await sendBatch(
            batch.map((index) => messages[index] as Outgoing),
            destination,
          )
        : [];
    for (const [at, index] of batch.entries()) results[index] = sent[at] ?? unreachable;
    unreachable ??= sent.find(({ outcome }) => outcome === "unreachable");
  });
  return results as Sent[];
}

/** The outcome of a message that is refused without asking SQS; `undefined`: it may be sent. A queue's setting may forbid larger ones, and JSON would lose a lone surrogate. */
function refusalOf(body: string): Sent | undefined {
  const bytes = Buffer.byteLength(body);
  if (bytes < 1 || bytes > SQS_BATCH_BYTES)
    return {
      outcome: "refused",
      reason: `a message must have 1 to ${SQS_BATCH_BYTES} bytes, not ${bytes}`,
    };
  return body.isWellFormed()
    ? undefined
    : { outcome: "refused", reason: "a message cannot hold a lone surrogate" };
}

/** Retries messages that SQS did not take: the SDK retries only whole requests. */
async function sendBatch(batch: readonly Outgoing[], destination: Destination): Promise<Sent[]> {
  const results = await trySend(batch, destination);
  for (let attempt = 2; attempt <= TRIES; attempt++) {
    const again = [...batch.keys()].filter((index) => results[index]?.repeatable);
    if (again.length === 0) break;
    const repeated = await trySend(
      again.map((index) => batch[index] as Outgoing),
      destination,
    );
    for (const [at, index] of again.entries()) results[index] = repeated[at] as Answer;
  }
  return results.map(({ sent }) => sent);
}

type Answer = { sent: Sent; repeatable?: boolean };

async function trySend(
  batch: readonly Outgoing[],
  { client, url, onRequest }: Destination,
): Promise<Answer[]> {
  onRequest(batch.length);
  const Entries = batch.map(
    ({ body, delaySeconds, group }, index): SendMessageBatchRequestEntry => ({
      Id: String(index),
      MessageBody: body,
      DelaySeconds: delaySeconds,
      ...(group !== undefined && { MessageGroupId: group }),
    }),
  );
  try {
    const { Failed = [] } = await client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
    const failed = new Map(Failed.map((entry) => [entry.Id, entry]));
    return batch.map((_, index): Answer => {
      const entry = failed.get(String(index));
      // rule: failed-message-not-sent
      if (entry === undefined) return { sent: { outcome: "sent" } };
      const sent = outcomeOfEntry(entry);
      return { sent, repeatable: sent.outcome === "failing" && entry.SenderFault === false };
    });
  } catch (thrown) {
    if (batch.length === 1 || !isContentError(thrown))
      return batch.map(() => ({ sent: outcomeOfError(thrown) }));
    // Emulators refuse a whole batch because of one message.
    const answers: Answer[] = [];
    for (const message of batch) answers.push(...(await trySend([message], { client, url, onRequest })));
    return answers;
  }
}
