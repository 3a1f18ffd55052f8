import type {
  ChangeMessageVisibilityBatchCommandInput,
  DeleteMessageBatchCommandInput,
  GetQueueAttributesCommandInput,
  ReceiveMessageCommandInput,
  SendMessageBatchCommandInput,
} from "@aws-sdk/client-sqs";
import {
  DEAD_RETENTION,
  MAX_RECEIVE_COUNT,
  RETENTION,
  sqsRefusalOf,
} from "../../../src/testing/sqs-limits.ts";
import { problem, type Service, serviceOf, type Trouble } from "./service.ts";

/** A message in a queue. Times are ms since the epoch. */
export type Message = {
  readonly id: string;
  readonly body: string;
  readonly group: string | undefined;
  readonly sentAt: number;
  /** How many invocations, one after another, led to the send of this message. The SDK passes Lambda's lineage on. */
  readonly chain: number;
  visibleAt: number;
  receives: number;
  firstReceivedAt: number;
  handle: string | undefined;
};

export type Sqs = Service & {
  messages(queue: string): readonly Message[];
  lose(queue: string, message: Message): void;
  /** Delivers a message twice, as SQS sometimes does. A message in flight becomes visible at once. */
  duplicate(queue: string, message: Message): void;
  /** SQS's own redrive: moves all messages of a queue's DLQ back to the queue. */
  redrive(queue: string): void;
};

const BATCH_BYTES = 256 * 1024;
const LONGEST_HIDE = 43_200;
const ENTRIES = 10;
const UNRECEIVED = { receives: 0, firstReceivedAt: 0, handle: undefined };

type Settings = {
  clock: () => number;
  topics: readonly string[];
  /** The most messages of one queue that may be in flight: 120,000 on AWS. */
  inFlight: () => number;
  /** Which of `count` visible messages comes next. */
  pick: (count: number) => number;
  onVisible: (queue: string, time: number) => void;
  onSent: (queue: string, body: string, visibleAt: number) => void;
  onRefused: () => void;
  unwanted: string;
};

/** The queues of an account. `drawn`: how many ids and handles were given out. */
type Queues = Settings & { queues: Map<string, Message[]>; drawn: number };

const OPERATIONS: Record<string, (account: Queues, input: never, trouble: Trouble) => unknown> = {
  SendMessageBatch: sendMessages,
  ReceiveMessage: receiveMessages,
  DeleteMessageBatch: deleteMessages,
  ChangeMessageVisibilityBatch: hideMessages,
  GetQueueAttributes: countMessages,
};

export function simulatedSqs(settings: Settings): Sqs {
  const { clock, onVisible, topics } = settings;
  const queues = new Map<string, Message[]>();
  for (const topic of topics) for (const name of [topic, `${topic}_dlq`]) queues.set(name, []);
  const account = { ...settings, queues, drawn: 0 };
  return {
    ...serviceOf(OPERATIONS, account),
    messages: (queue) => contents(account, queue),
    lose: (queue, { id }) => drop(account, queue, (message) => message.id === id),
    duplicate(queue, message) {
      // A message that is not received yet is doubled, and both copies keep its delay.
      if (message.handle !== undefined) message.visibleAt = clock();
      else contents(account, queue).push({ ...message });
      onVisible(queue, message.visibleAt);
    },
    redrive(queue) {
      const moved = contents(account, `${queue}_dlq`);
      for (const message of moved) {
        contents(account, queue).push({ ...message, sentAt: clock(), visibleAt: clock(), ...UNRECEIVED });
        onVisible(queue, clock());
      }
      drop(account, `${queue}_dlq`, () => true);
    },
  };
}

function contents({ queues, clock }: Queues, queue: string): Message[] {
  const messages = queues.get(queue);
  if (!messages) throw problem("QueueDoesNotExist", `there is no queue ${queue}`);
  const oldest = clock() - (queue.endsWith("_dlq") ? DEAD_RETENTION : RETENTION);
  if (messages.some(({ sentAt }) => sentAt <= oldest))
    queues.set(
      queue,
      messages.filter(({ sentAt }) => sentAt > oldest),
    );
  return queues.get(queue) ?? [];
}

function drop(account: Queues, queue: string, gone: (message: Message) => boolean): void {
  const left = contents(account, queue).filter((message) => !gone(message));
  account.queues.set(queue, left);
}

function bury(account: Queues, queue: string): void {
  if (queue.endsWith("_dlq")) return;
  const now = account.clock();
  for (const message of contents(account, queue)) {
    if (message.visibleAt > now || message.receives < MAX_RECEIVE_COUNT) continue;
    drop(account, queue, ({ id }) => id === message.id);
    // The message keeps the time at which it was sent, so its retention ends at the same time.
    contents(account, `${queue}_dlq`).push({ ...message, visibleAt: now, ...UNRECEIVED });
  }
}

function each<E extends { Id: string | undefined }>(
  entries: readonly E[] | undefined,
  trouble: Trouble,
  act: (entry: E) => string | undefined,
) {
  const count = entries?.length ?? 0;
  if (count < 1 || count > ENTRIES)
    throw problem("TooManyEntriesInBatchRequest", `1 to 10 entries, not ${count}`);
  const Failed = (entries ?? []).flatMap((entry) => {
    const own = trouble.entryFails();
    const Code = own ?? act(entry);
    return Code === undefined ? [] : [{ Id: entry.Id, Code, Message: Code, SenderFault: own === undefined }];
  });
  return { Failed };
}

function sendMessages(
  account: Queues,
  { QueueUrl = "", Entries = [] }: SendMessageBatchCommandInput,
  trouble: Trouble,
): object {
  const { clock, unwanted, onRefused, onSent, onVisible } = account;
  const queue = contents(account, QueueUrl);
  const bytes = Entries.reduce((sum, { MessageBody = "" }) => sum + Buffer.byteLength(MessageBody), 0);
  if (bytes > BATCH_BYTES) throw problem("BatchRequestTooLong", `at most ${BATCH_BYTES} bytes, got ${bytes}`);
  return each(Entries as ((typeof Entries)[number] & { Id: string })[], trouble, (entry) => {
    const { MessageBody: body = "", DelaySeconds = 0, MessageGroupId: group } = entry;
    if (DelaySeconds < 0 || DelaySeconds > 900 || !Number.isInteger(DelaySeconds))
      return "InvalidParameterValue";
    if (sqsRefusalOf(body, group) !== undefined || body.includes(unwanted)) {
      onRefused();
      return "InvalidMessageContents";
    }
    const visibleAt = clock() + DelaySeconds * 1000;
    const [id, sentAt, { chain }] = [`m${++account.drawn}`, clock(), trouble];
    queue.push({ id, body, group, sentAt, chain, visibleAt, ...UNRECEIVED });
    onSent(QueueUrl, body, visibleAt);
    onVisible(QueueUrl, visibleAt);
    return undefined;
  });
}

function receiveMessages(account: Queues, input: ReceiveMessageCommandInput): object {
  const { QueueUrl = "", MaxNumberOfMessages = 1, VisibilityTimeout = 30 } = input;
  if (MaxNumberOfMessages > ENTRIES || VisibilityTimeout > LONGEST_HIDE)
    throw problem("InvalidParameterValue", "at most 10 messages, hidden for at most 12 hours");
  bury(account, QueueUrl);
  const now = account.clock();
  const all = contents(account, QueueUrl);
  const inFlight = all.filter(({ handle, visibleAt }) => handle !== undefined && visibleAt > now).length;
  const room = Math.min(MaxNumberOfMessages, Math.max(account.inFlight() - inFlight, 0));
  const visible = all.filter(({ visibleAt }) => visibleAt <= now).sort((a, b) => a.visibleAt - b.visibleAt);
  const Messages = Array.from({ length: Math.min(room, visible.length) }, () => {
    const [message] = visible.splice(account.pick(visible.length), 1) as [Message];
    message.receives += 1;
    message.firstReceivedAt ||= now;
    message.visibleAt = now + VisibilityTimeout * 1000;
    message.handle = `${message.id}/${++account.drawn}`;
    account.onVisible(QueueUrl, message.visibleAt);
    return receivedFrom(message);
  });
  return { Messages };
}

function receivedFrom({ id, body, handle, receives, firstReceivedAt, chain }: Message): object {
  return {
    MessageId: id,
    Body: body,
    ReceiptHandle: handle,
    Attributes: {
      ApproximateReceiveCount: String(receives),
      ApproximateFirstReceiveTimestamp: String(firstReceivedAt),
    },
    Chain: chain,
  };
}

function deleteMessages(
  account: Queues,
  { QueueUrl = "", Entries }: DeleteMessageBatchCommandInput,
  trouble: Trouble,
): object {
  return each(Entries as { Id: string; ReceiptHandle: string }[], trouble, ({ ReceiptHandle }) => {
    drop(account, QueueUrl, ({ handle }) => handle === ReceiptHandle);
    return undefined;
  });
}

function hideMessages(
  account: Queues,
  { QueueUrl = "", Entries }: ChangeMessageVisibilityBatchCommandInput,
  trouble: Trouble,
): object {
  const { clock, onVisible } = account;
  type Entry = { Id: string; ReceiptHandle: string; VisibilityTimeout: number };
  return each(Entries as Entry[], trouble, ({ ReceiptHandle, VisibilityTimeout }) => {
    const message = contents(account, QueueUrl).find(({ handle }) => handle === ReceiptHandle);
    if (!message || message.visibleAt <= clock()) return "MessageNotInflight";
    if (VisibilityTimeout > LONGEST_HIDE) return "InvalidParameterValue";
    message.visibleAt = clock() + VisibilityTimeout * 1000;
    onVisible(QueueUrl, message.visibleAt);
    return undefined;
  });
}

function countMessages(account: Queues, { QueueUrl = "" }: GetQueueAttributesCommandInput): object {
  const all = contents(account, QueueUrl);
  const hidden = all.filter(({ visibleAt }) => visibleAt > account.clock());
  const inFlight = hidden.filter(({ handle }) => handle !== undefined).length;
  return {
    Attributes: {
      ApproximateNumberOfMessages: String(all.length - hidden.length),
      ApproximateNumberOfMessagesDelayed: String(hidden.length - inFlight),
      ApproximateNumberOfMessagesNotVisible: String(inFlight),
    },
  };
}
