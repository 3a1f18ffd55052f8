import type { Outgoing, QueueName, Received, Sent } from "../protocol/ports.ts";
import { DEAD_RETENTION, MAX_RECEIVE_COUNT, RETENTION, sqsRefusalOf } from "./sqs-limits.ts";

/** A message as it lies in a queue. Times are ms since the epoch. */
export type MemoryMessage = {
  readonly id: string;
  readonly body: string;
  readonly group?: string;
  readonly sentAt: number;
  readonly visibleAt: number;
  /** How often the message was received. SQS's own redrive sets it back to 0. */
  readonly receiveCount: number;
};

/** A message with what SQS does not show. `handle`: of the last receive. */
export type Stored = { -readonly [Name in keyof MemoryMessage]: MemoryMessage[Name] } & {
  seq: number;
  handle?: string;
  receivedAt?: number;
};

/** The messages of all queues, in memory. `drawn`: how many ids and receipt handles were drawn. */
export type Stores = {
  readonly clock: () => number;
  readonly byName: Map<string, Stored[]>;
  drawn: number;
};

export function createStores(clock: () => number, topics: readonly string[]): Stores {
  const queues: QueueName[] = [{ events: true }];
  for (const topic of topics) queues.push({ topic }, { topic, dead: true });
  return { clock, byName: new Map(queues.map((queue) => [nameOf(queue), []])), drawn: 0 };
}

/** The messages of a queue that are younger than SQS's retention, in the order in which they become visible. */
export function contentsOf({ clock, byName }: Stores, queue: QueueName): Stored[] {
  const oldest = clock() - (queue.dead ? DEAD_RETENTION : RETENTION);
  const kept = (byName.get(nameOf(queue)) ?? []).filter(({ sentAt }) => sentAt > oldest);
  if (byName.has(nameOf(queue))) byName.set(nameOf(queue), kept);
  return kept.sort((a, b) => a.visibleAt - b.visibleAt || a.seq - b.seq);
}

export function keepOnly(stores: Stores, queue: QueueName, wanted: (message: Stored) => boolean): void {
  const name = nameOf(queue);
  if (stores.byName.has(name)) stores.byName.set(name, contentsOf(stores, queue).filter(wanted));
}

export function store(stores: Stores, queue: QueueName, { body, delaySeconds, group }: Outgoing): Sent {
  const reason = sqsRefusalOf(body, group);
  if (reason !== undefined) return { outcome: "refused", reason };
  const now = stores.clock();
  stores.drawn += 1;
  add(stores, queue, {
    id: `message-${stores.drawn}`,
    seq: stores.drawn,
    body,
    ...(group === undefined ? {} : { group }),
    sentAt: now,
    visibleAt: now + delaySeconds * 1000,
    receiveCount: 0,
  });
  return { outcome: "sent" };
}

export function handOut(stores: Stores, message: Stored, hideSeconds: number): Received {
  const now = stores.clock();
  message.receiveCount += 1;
  message.visibleAt = now + hideSeconds * 1000;
  message.receivedAt = now;
  message.handle = `${message.id}/${++stores.drawn}`;
  return { body: message.body, handle: message.handle, receives: message.receiveCount };
}

export function buryWornOut(stores: Stores, queue: QueueName): void {
  const now = stores.clock();
  const isWornOut = (message: Stored) =>
    message.visibleAt <= now && message.receiveCount >= MAX_RECEIVE_COUNT;
  if (queue.dead || queue.events) return;
  for (const { handle: _, receivedAt: __, ...message } of contentsOf(stores, queue).filter(isWornOut))
    add(stores, { topic: queue.topic, dead: true }, { ...message, visibleAt: now, receiveCount: 0 });
  keepOnly(stores, queue, (message) => !isWornOut(message));
}

export function redriveNatively(stores: Stores, topic: string): void {
  const now = stores.clock();
  for (const { handle: _, receivedAt: __, ...message } of contentsOf(stores, { topic, dead: true }))
    add(stores, { topic }, { ...message, sentAt: now, visibleAt: now, receiveCount: 0 });
  keepOnly(stores, { topic, dead: true }, () => false);
}

function add({ byName }: Stores, queue: QueueName, message: Stored): void {
  byName.get(nameOf(queue))?.push(message);
}

export function nameOf(queue: QueueName): string {
  if (queue.events) return "_events";
  return queue.dead ? `${queue.topic}_dlq` : queue.topic;
}
