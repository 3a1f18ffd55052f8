import { assertWhole } from "../core/check.ts";
import { LONGEST_LEASE, SQS_BATCH_BYTES, SQS_BATCH_ENTRIES } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { batchesOf } from "../general/batches.ts";
import type { Depth, Outgoing, QueueName, Queues, Received, Sent } from "../protocol/ports.ts";
import {
  buryWornOut,
  contentsOf,
  createStores,
  handOut,
  keepOnly,
  type MemoryMessage,
  nameOf,
  redriveNatively,
  type Stored,
  type Stores,
  store,
} from "./memory-messages.ts";

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
  lose(queue: QueueName, id: string): void;
  /** Makes a message visible at once, even if it is in flight: SQS delivers at least once. */
  duplicate(queue: QueueName, id: string): void;
  /** Moves every message of the DLQ to the ready queue, as SQS's own redrive does. */
  redriveNatively(topic: string): void;
};

type State = {
  readonly stores: Stores;
  readonly troubles: Map<string, Trouble>;
  readonly hooks: QueueHooks;
};

/** SQS's semantics. `clock`: ms since the epoch. `receive` answers at once, because the clock would stand still while it waits. */
export function memoryQueues({
  clock,
  topics,
}: {
  clock: () => number;
  topics: readonly string[];
}): MemoryQueues {
  const stores = createStores(clock, topics);
  const troubles = new Map<string, Trouble>();
  const state: State = { stores, troubles, hooks: {} };
  return {
    hooks: state.hooks,
    messages: (queue) =>
      contentsOf(stores, queue).map(({ seq: _, handle: __, receivedAt: ___, ...message }) => message),
    trouble(queue, kind) {
      const name = queue === "all" ? queue : nameOf(queue);
      if (kind) troubles.set(name, kind);
      else troubles.delete(name);
    },
    take(queue, id, hideSeconds) {
      const found = visibleIn(stores, queue).find((message) => message.id === id);
      return found && handOut(stores, found, hideSeconds);
    },
    purge: (queue) => keepOnly(stores, queue, () => false),
    lose: (queue, id) => keepOnly(stores, queue, (message) => message.id !== id),
    duplicate(queue, id) {
      for (const message of contentsOf(stores, queue)) if (message.id === id) message.visibleAt = clock();
    },
    redriveNatively: (topic) => redriveNatively(stores, topic),
    send: (queue, messages) => send(state, queue, messages),
    receive: (queue, options) => receive(state, queue, options),
    remove: (queue, handles) => remove(state, queue, handles),
    hide: (queue, messages) => hide(state, queue, messages),
    depth: (queue) => requestOrThrow(state, "depth", queue, 0, () => depthOf(stores, queue)),
  };
}

function visibleIn(stores: Stores, queue: QueueName): Stored[] {
  return contentsOf(stores, queue).filter(({ visibleAt }) => visibleAt <= stores.clock());
}

function troubleOf({ stores, troubles }: State, queue: QueueName): Trouble | undefined {
  const name = nameOf(queue);
  return troubles.get("all") ?? (stores.byName.has(name) ? troubles.get(name) : "missing");
}

async function request<T>({ hooks }: State, call: QueueCall, effect: () => T): Promise<T> {
  await hooks.before?.(call);
  const result = effect();
  await hooks.after?.(call);
  return result;
}

function requestOrThrow<T>(
  state: State,
  operation: keyof Queues,
  queue: QueueName,
  count: number,
  effect: () => T,
): Promise<T> {
  return request(state, { operation, queue, count }, () => {
    const trouble = troubleOf(state, queue);
    if (trouble) throw new MinutehandError("unavailable", `queue ${nameOf(queue)} is ${trouble}`);
    return effect();
  });
}

async function send(state: State, queue: QueueName, messages: readonly Outgoing[]): Promise<Sent[]> {
  for (const { delaySeconds } of messages) assertWhole("delaySeconds", delaySeconds, 0, 900);
  const sizeOf = ({ body }: Outgoing) => Buffer.byteLength(body);
  const limits = { count: SQS_BATCH_ENTRIES, bytes: SQS_BATCH_BYTES };
  const sent: Sent[] = [];
  for (const batch of batchesOf(messages, sizeOf, limits))
    sent.push(...(await sendBatch(state, queue, batch)));
  return sent;
}

async function sendBatch(state: State, queue: QueueName, batch: readonly Outgoing[]): Promise<Sent[]> {
  try {
    return await request(state, { operation: "send", queue, count: batch.length }, () => {
      const outcome = troubleOf(state, queue);
      if (outcome) return batch.map(() => ({ outcome, reason: `queue ${nameOf(queue)} is ${outcome}` }));
      return batch.map((message) => store(state.stores, queue, message));
    });
  } catch (thrown) {
    return batch.map(() => ({ outcome: "unreachable", reason: messageOf(thrown) }));
  }
}

async function receive(
  state: State,
  queue: QueueName,
  { max, waitSeconds, hideSeconds }: Parameters<Queues["receive"]>[1],
): Promise<Received[]> {
  assertWhole("max", max, 1, 10);
  assertWhole("waitSeconds", waitSeconds, 0, 20);
  assertWhole("hideSeconds", hideSeconds, 0, 43_200);
  return requestOrThrow(state, "receive", queue, max, () => {
    buryWornOut(state.stores, queue);
    const taken = visibleIn(state.stores, queue).slice(0, max);
    return taken.map((message) => handOut(state.stores, message, hideSeconds));
  });
}

async function remove(state: State, queue: QueueName, handles: readonly string[]): Promise<void> {
  if (handles.length === 0) return;
  await requestOrThrow(state, "remove", queue, handles.length, () =>
    keepOnly(state.stores, queue, ({ handle }) => handle === undefined || !handles.includes(handle)),
  );
}

async function hide(
  state: State,
  queue: QueueName,
  messages: readonly { handle: string; seconds: number }[],
): Promise<void> {
  for (const { seconds } of messages) assertWhole("seconds", seconds, 0, 43_200);
  if (messages.length === 0) return;
  const { clock } = state.stores;
  await requestOrThrow(state, "hide", queue, messages.length, () => {
    const inFlight = contentsOf(state.stores, queue).filter(({ visibleAt }) => visibleAt > clock());
    for (const { handle, seconds } of messages)
      for (const message of inFlight)
        if (message.handle === handle && isHidable(message, clock() + seconds * 1000))
          message.visibleAt = clock() + seconds * 1000;
  });
}

/** Whether SQS hides a message until `until`. SQS refuses more than 12 hours from the receive, and leaves the message unchanged. */
function isHidable({ receivedAt = 0 }: Stored, until: number): boolean {
  return until <= receivedAt + LONGEST_LEASE;
}

function depthOf(stores: Stores, queue: QueueName): Depth {
  const all = contentsOf(stores, queue);
  const hidden = all.filter(({ visibleAt }) => visibleAt > stores.clock());
  const inFlight = hidden.filter(({ handle }) => handle !== undefined).length;
  return { ready: all.length - hidden.length, delayed: hidden.length - inFlight, inFlight };
}
