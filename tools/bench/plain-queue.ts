import {
  CreateQueueCommand,
  PurgeQueueCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { SQS_BATCH_ENTRIES } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { delaySecondsOf, packsOf } from "../../src/core/packs.ts";
import type { TopicPolicy } from "../../src/settings/policy.ts";
import { load } from "./load.ts";
import { WIDTH } from "./plain-table.ts";
import type { Rig } from "./rig.ts";

export type PlainMessage = { readonly body: string; readonly delaySeconds: number };

/** So long that no message comes twice within a run. */
const HIDE_SECONDS = "90";

/** Creates a queue with the name of a topic's ready queue, so that a context sends to it. No function consumes it. */
export async function createQueue({ plain, stack }: Rig, topic: string): Promise<string> {
  const url = `${stack.queueUrlPrefix}${topic}`;
  const name = url.slice(url.lastIndexOf("/") + 1);
  await plain.sqs.send(
    new CreateQueueCommand({ QueueName: name, Attributes: { VisibilityTimeout: HIDE_SECONDS } }),
  );
  return url;
}

export async function emptyQueue({ plain }: Rig, url: string): Promise<void> {
  await plain.sqs.send(new PurgeQueueCommand({ QueueUrl: url }));
}

export function messagesOf(topic: string, policy: TopicPolicy, homes: readonly Home[]): PlainMessage[] {
  const now = Date.now();
  return packsOf(topic, policy, homes, now).map(({ body, start: dueAt }) => ({
    body,
    delaySeconds: delaySecondsOf(dueAt, now, policy.precision),
  }));
}

export async function sendAll(
  client: SQSClient,
  url: string,
  messages: readonly PlainMessage[],
): Promise<void> {
  await load(Math.ceil(messages.length / SQS_BATCH_ENTRIES), WIDTH, async (call) => {
    const batch = messages.slice(call * SQS_BATCH_ENTRIES, (call + 1) * SQS_BATCH_ENTRIES);
    const Entries = batch.map(
      ({ body, delaySeconds }, index): SendMessageBatchRequestEntry => ({
        Id: String(index),
        MessageBody: body,
        DelaySeconds: delaySeconds,
      }),
    );
    const { Failed = [] } = await client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
    if (Failed.length > 0) throw new Error(`a plain send failed: ${Failed[0]?.Message}`);
  });
}
