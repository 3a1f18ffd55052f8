import { LONGEST_LEASE, SQS_BATCH_BYTES, SQS_BATCH_ENTRIES } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { assertWhole } from "../general/assert-whole.ts";
import { batchesOf } from "../general/batches.ts";
import type { Depth, Outgoing, QueueName, Queues, Received, Sent } from "../protocol/ports.ts";
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

/** The trouble that a queue can have. `send` then answers the trouble for each message, and the other calls throw `unavailable`. */
export type Trouble = "missing" | "failing" | "unreachable";

/** One request to a queue. `count`: its messages, at most 10 of a `send`. */
export type QueueCall = {
  readonly operation: keyof Queues;
  readonly queue: QueueName;
  readonly count: number;
};

/** If `before` throws, the request is not applied. If `after` throws, the request is applied and its answer is lost. */
export type QueueHooks = {
  before?: (call: QueueCall) => void | Promise<void>;
  after?: (call: QueueCall) => void | Promise<void>;
};

export type MemoryQueues = Queues & {
  readonly hooks: QueueHooks;
  /** Copies of a queue's messages, including messages in flight, in the order in which they become visible. */
  messages(queue: QueueName): MemoryMessage[];
  /** Sets the trouble of one queue, or of `"all"`. `undefined` ends it. */
  trouble(queue: QueueName | "all", kind: Trouble | undefined): void;
  /** Receives this message; `undefined` if it is not visible. */
  take(queue: QueueName, id: string, hideSeconds: number): Received | undefined;
  purge(queue: QueueName): void;
  /** Loses one message. */
  lose(queue: QueueName, id: string): void;
  /** Makes a message visible at once, even if it is in flight: SQS delivers at least once. */
  duplicate(queue: QueueName, id: string): void;
  /** Moves every message of the DLQ to the ready queue, as SQS's own redrive does. */
  redriveNatively(topic: string): void;
};

type Stored = { -readonly [Name in keyof MemoryMessage]: MemoryMessage[Name] } & {
  seq: number;
  handle?: string;
  receivedAt?: number;
};

/**
 * Creates the ready queues and DLQs of `topics` in memory, with SQS's semantics. `clock`: ms since the epoch. `receive` answers at once,
 * because the clock would stand still while it waits.
 */
export function memoryQueues({
  clock,
  topics,
}: {
  clock: () => number;
  topics: readonly string[];
}): MemoryQueues {
  const stores = new Map<string, Stored[]>();
  const troubles = new Map<string, Trouble>();
  const hooks: QueueHooks = {};
  let drawn = 0;
  stores.set(nameOf({ events: true }), []);
  for (const topic of topics) {
    stores.set(nameOf({ topic }), []);
    stores.set(nameOf({ topic, dead: true }), []);
  }

  const contents = (queue: QueueName): Stored[] => {
    const oldest = clock() - (queue.dead ? DEAD_RETENTION : RETENTION);
    const kept = (stores.get(nameOf(queue)) ?? []).filter(({ sentAt }) => sentAt > oldest);
    if (stores.has(nameOf(queue))) stores.set(nameOf(queue), kept);
    return kept.sort((a, b) => a.visibleAt - b.visibleAt || a.seq - b.seq);
  };
  const keep = (queue: QueueName, wanted: (message: Stored) => boolean): void => {
    const kept = contents(queue).filter(wanted);
    if (stores.has(nameOf(queue))) stores.set(nameOf(queue), kept);
  };
  const troubleOf = (queue: QueueName): Trouble | undefined =>
    troubles.get("all") ?? (stores.has(nameOf(queue)) ? troubles.get(nameOf(queue)) : "missing");

  const request = async <T>(call: QueueCall, effect: () => T): Promise<T> => {
    await hooks.before?.(call);
    const result = effect();
    await hooks.after?.(call);
    return result;
  };
  const requestOrThrow = <T>(operation: keyof Queues, queue: QueueName, count: number, effect: () => T) =>
    request({ operation, queue, count }, () => {
      const trouble = troubleOf(queue);
      if (trouble) throw new MinutehandError("unavailable", `queue ${nameOf(queue)} is ${trouble}`);
      return effect();
    });

  const store = (queue: QueueName, { body, delaySeconds, group }: Outgoing): Sent => {
    const reason = sqsRefusalOf(body, group);
    if (reason !== undefined) return { outcome: "refused", reason };
    drawn += 1;
    stores.get(nameOf(queue))?.push({
      id: `message-${drawn}`,
      seq: drawn,
      body,
      ...(group === undefined ? {} : { group }),
      sentAt: clock(),
      visibleAt: clock() + delaySeconds * 1000,
      receiveCount: 0,
    });
    return { outcome: "sent" };
  };

  const handOut = (message: Stored, hideSeconds: number): Received => {
    message.receiveCount += 1;
    message.visibleAt = clock() + hideSeconds * 1000;
    message.receivedAt = clock();
    message.handle = `${message.id}/${++drawn}`;
    return { body: message.body, handle: message.handle, receives: message.receiveCount };
  };

  const sendBatch = async (queue: QueueName, batch: readonly Outgoing[]): Promise<Sent[]> => {
    try {
      return await request({ operation: "send", queue, count: batch.length }, () => {
        const outcome = troubleOf(queue);
        if (outcome) return batch.map(() => ({ outcome, reason: `queue ${nameOf(queue)} is ${outcome}` }));
        return batch.map((message) => store(queue, message));
      });
    } catch (thrown) {
      return batch.map(() => ({ outcome: "unreachable", reason: messageOf(thrown) }));
    }
  };

  const buryWornOut = (queue: QueueName): void => {
    const wornOut = (message: Stored) =>
      message.visibleAt <= clock() && message.receiveCount >= MAX_RECEIVE_COUNT;
    if (queue.dead || queue.events) return;
    const dead = { topic: queue.topic, dead: true } as const;
    for (const { handle: _, receivedAt: __, ...message } of contents(queue).filter(wornOut))
      contents(dead).push({ ...message, visibleAt: clock(), receiveCount: 0 });
    keep(queue, (message) => !wornOut(message));
  };

  return {
    hooks,
    messages: (queue) =>
      contents(queue).map(({ seq: _, handle: __, receivedAt: ___, ...message }) => message),
    trouble(queue, kind) {
      const name = queue === "all" ? queue : nameOf(queue);
      if (kind) troubles.set(name, kind);
      else troubles.delete(name);
    },
    take(queue, id, hideSeconds) {
      const found = contents(queue).find((message) => message.id === id && message.visibleAt <= clock());
      return found && handOut(found, hideSeconds);
    },
    purge: (queue) => keep(queue, () => false),
    lose: (queue, id) => keep(queue, (message) => message.id !== id),
    duplicate(queue, id) {
      for (const message of contents(queue)) if (message.id === id) message.visibleAt = clock();
    },
    redriveNatively(topic) {
      const moved = contents({ topic, dead: true });
      for (const { handle: _, receivedAt: __, ...message } of moved)
        contents({ topic }).push({ ...message, sentAt: clock(), visibleAt: clock(), receiveCount: 0 });
      keep({ topic, dead: true }, () => false);
    },

    async send(queue, messages) {
      for (const { delaySeconds } of messages) assertWhole("delaySeconds", delaySeconds, 0, 900);
      const sizeOf = ({ body }: Outgoing) => Buffer.byteLength(body);
      const limits = { count: SQS_BATCH_ENTRIES, bytes: SQS_BATCH_BYTES };
      const sent: Sent[] = [];
      for (const batch of batchesOf(messages, sizeOf, limits)) sent.push(...(await sendBatch(queue, batch)));
      return sent;
    },

    async receive(queue, { max, waitSeconds, hideSeconds }) {
      assertWhole("max", max, 1, 10);
      assertWhole("waitSeconds", waitSeconds, 0, 20);
      assertWhole("hideSeconds", hideSeconds, 0, 43_200);
      return requestOrThrow("receive", queue, max, () => {
        buryWornOut(queue);
        const visible = contents(queue).filter(({ visibleAt }) => visibleAt <= clock());
        return visible.slice(0, max).map((message) => handOut(message, hideSeconds));
      });
    },

    async remove(queue, handles) {
      if (handles.length === 0) return;
      await requestOrThrow("remove", queue, handles.length, () =>
        keep(queue, ({ handle }) => handle === undefined || !handles.includes(handle)),
      );
    },

    async hide(queue, messages) {
      for (const { seconds } of messages) assertWhole("seconds", seconds, 0, 43_200);
      if (messages.length === 0) return;
      await requestOrThrow("hide", queue, messages.length, () => {
        const inFlight = contents(queue).filter(({ visibleAt }) => visibleAt > clock());
        for (const { handle, seconds } of messages)
          for (const message of inFlight)
            if (message.handle === handle && isHidable(message, clock() + seconds * 1000))
              message.visibleAt = clock() + seconds * 1000;
      });
    },

    depth: (queue) =>
      requestOrThrow("depth", queue, 0, (): Depth => {
        const all = contents(queue);
        const hidden = all.filter(({ visibleAt }) => visibleAt > clock());
        const inFlight = hidden.filter(({ handle }) => handle !== undefined).length;
        return { ready: all.length - hidden.length, delayed: hidden.length - inFlight, inFlight };
      }),
  };
}

/** Whether SQS hides a message until `until`. SQS refuses more than 12 hours from the receive, and leaves the message unchanged. */
function isHidable({ receivedAt = 0 }: Stored, until: number): boolean {
  return until <= receivedAt + LONGEST_LEASE;
}

function nameOf(queue: QueueName): string {
  if (queue.events) return "_events";
  return queue.dead ? `${queue.topic}_dlq` : queue.topic;
}
