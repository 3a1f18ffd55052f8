import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { assertWhole } from "../core/check.ts";
import { RECEIVE_WAIT_SECONDS, SQS_BATCH_ENTRIES } from "../core/constants.ts";
import { chunksOf, inParallel } from "../general/batches.ts";
import type { Depth, QueueName, Queues, Received } from "../protocol/ports.ts";
import { REQUEST_TIMEOUT } from "./clients.ts";
import { type ReceiptAnswer, settleReceipts } from "./receipts.ts";
import { sendMessages } from "./send.ts";
import { unavailable } from "./unknown.ts";

/** Calls of one operation in flight at once. */
const WIDTH = 8;
/** "Visibility timeout", SQS Developer Guide: 12 hours, in seconds. */
const MOST_HIDE_SECONDS = 43_200;

/** Called for each request, with the method of the port and the number of messages that the request names. */
export type OnRequest = (operation: keyof Queues, messages: number) => void;

/**
 * `urlPrefix` ends with `-`. In the URL of the events' queue, `_events` replaces this `-`, so no topic's queue has this URL.
 * `longPollClient` makes the receives, so that long polls do not take the sockets of other calls.
 */
export function sqsQueues(settings: {
  client: SQSClient;
  longPollClient?: SQSClient;
  urlPrefix: string;
  onRequest?: OnRequest;
}): Queues {
  const { client, longPollClient = client, urlPrefix, onRequest = () => {} } = settings;
  const urlOf = (queue: QueueName) =>
    queue.events
      ? `${urlPrefix.slice(0, -1)}_events`
      : `${urlPrefix}${queue.topic}${queue.dead ? "_dlq" : ""}`;
  const on = (queue: QueueName): Queue => ({ client, longPollClient, url: urlOf(queue), onRequest });
  return {
    send(queue, messages) {
      const onSend = (count: number) => onRequest("send", count);
      return sendMessages(messages, { client, url: urlOf(queue), onRequest: onSend });
    },
    receive: (queue, options) => receive(on(queue), options),
    remove: (queue, handles, patience) => remove(on(queue), handles, patience),
    hide: (queue, messages, patience) => hide(on(queue), messages, patience),
    depth: (queue) => depth(on(queue)),
  };
}

type Queue = {
  readonly client: SQSClient;
  readonly longPollClient: SQSClient;
  readonly url: string;
  readonly onRequest: OnRequest;
};

async function receive(
  { longPollClient, url, onRequest }: Queue,
  { max, waitSeconds, hideSeconds }: Parameters<Queues["receive"]>[1],
): Promise<Received[]> {
  assertWhole("max", max, 1, SQS_BATCH_ENTRIES);
  assertWhole("waitSeconds", waitSeconds, 0, RECEIVE_WAIT_SECONDS);
  assertWhole("hideSeconds", hideSeconds, 0, MOST_HIDE_SECONDS);
  onRequest("receive", max);
  const command = new ReceiveMessageCommand({
    QueueUrl: url,
    MaxNumberOfMessages: max,
    WaitTimeSeconds: waitSeconds,
    VisibilityTimeout: hideSeconds,
    MessageSystemAttributeNames: ["ApproximateReceiveCount"],
  });
  const requestTimeout = waitSeconds * 1000 + REQUEST_TIMEOUT;
  try {
    const { Messages = [] } = await longPollClient.send(command, { requestTimeout });
    return Messages.map(({ Body = "", ReceiptHandle = "", Attributes }) => {
      const receives = Number(Attributes?.ApproximateReceiveCount ?? 1);
      return { body: Body, handle: ReceiptHandle, receives };
    });
  } catch (thrown) {
    throw unavailable(`SQS did not answer a receive of ${url}`, thrown);
  }
}

async function remove(
  { client, url, onRequest }: Queue,
  handles: readonly string[],
  requestTimeout = REQUEST_TIMEOUT,
): Promise<void> {
  await inParallel(chunksOf(handles, SQS_BATCH_ENTRIES), WIDTH, (chunk) =>
    settleReceipts(chunk, (entries): Promise<ReceiptAnswer> => {
      onRequest("remove", entries.length);
      const Entries = entries.map(({ id, entry }) => ({ Id: id, ReceiptHandle: entry }));
      const command = new DeleteMessageBatchCommand({ QueueUrl: url, Entries });
      return client.send(command, { requestTimeout });
    }),
  );
}

async function hide(
  { client, url, onRequest }: Queue,
  messages: Parameters<Queues["hide"]>[1],
  requestTimeout = REQUEST_TIMEOUT,
): Promise<void> {
  for (const { seconds } of messages) assertWhole("seconds", seconds, 0, MOST_HIDE_SECONDS);
  await inParallel(chunksOf(messages, SQS_BATCH_ENTRIES), WIDTH, (chunk) =>
    settleReceipts(chunk, (entries): Promise<ReceiptAnswer> => {
      onRequest("hide", entries.length);
      const Entries = entries.map(({ id, entry }) => ({
        Id: id,
        ReceiptHandle: entry.handle,
        VisibilityTimeout: entry.seconds,
      }));
      const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries });
      return client.send(command, { requestTimeout });
    }),
  );
}

async function depth({ client, url, onRequest }: Queue): Promise<Depth> {
  onRequest("depth", 0);
  const command = new GetQueueAttributesCommand({
    QueueUrl: url,
    AttributeNames: [
      "ApproximateNumberOfMessages",
      "ApproximateNumberOfMessagesDelayed",
      "ApproximateNumberOfMessagesNotVisible",
    ],
  });
  try {
    const { Attributes = {} } = await client.send(command);
    return {
      ready: Number(Attributes.ApproximateNumberOfMessages ?? 0),
      delayed: Number(Attributes.ApproximateNumberOfMessagesDelayed ?? 0),
      inFlight: Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
    };
  } catch (thrown) {
    throw unavailable(`SQS did not tell the depth of ${url}`, thrown);
  }
}
