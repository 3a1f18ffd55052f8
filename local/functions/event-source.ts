import { setTimeout as sleep } from "node:timers/promises";
import {
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { errorText } from "../local-error.ts";
import type { EventSourceSpec } from "../template/resources.ts";
import type { Outcome } from "./execution-environment.ts";
import { chainLength, LONGEST_CHAIN } from "./recursive-loop.ts";
import { failedMessages, sqsEvent } from "./sqs-event.ts";

/** Lambda starts with five pollers. On one machine, more than ten pollers would only slow each other down. */
const FIRST_POLLERS = 5;
const MAX_POLLERS = 10;
const SCALE_EVERY_MS = 1_000;
const POLL_SECONDS = 20;
/** The pause after a poll that fails because the SQS emulator restarts. */
const RETRY_MS = 200;

export type EventSource = { readonly stop: () => Promise<void> };

type Dependencies = {
  readonly client: SQSClient;
  readonly queueUrl: string;
  /** The queue's visibility timeout. */
  readonly visibilitySeconds: number;
  readonly invoke: (event: object) => Promise<Outcome>;
  readonly log: (line: string) => void;
};

type State = Dependencies & {
  readonly spec: EventSourceSpec;
  readonly stopping: AbortController;
  readonly pollers: Set<Promise<void>>;
  readonly removals: Set<Promise<void>>;
  busy: number;
};

/** A poller receives again only after its invocation, so no batch waits in a poller. */
export function startEventSource(spec: EventSourceSpec, dependencies: Dependencies): EventSource {
  const [pollers, removals] = [new Set<Promise<void>>(), new Set<Promise<void>>()];
  const stopping = new AbortController();
  const state: State = { ...dependencies, spec, stopping, pollers, removals, busy: 0 };
  const max = Math.min(spec.maximumConcurrency ?? MAX_POLLERS, MAX_POLLERS);
  for (let i = 0; i < Math.min(FIRST_POLLERS, max); i++) addPoller(state);
  const scaler = setInterval(() => {
    if (state.busy === pollers.size && pollers.size < max) addPoller(state);
  }, SCALE_EVERY_MS);
  return {
    stop: async () => {
      clearInterval(scaler);
      stopping.abort();
      await Promise.all(pollers);
      await Promise.all(removals);
    },
  };
}

function addPoller(state: State): void {
  const poller = poll(state).finally(() => state.pollers.delete(poller));
  state.pollers.add(poller);
}

async function poll(state: State): Promise<void> {
  while (!state.stopping.signal.aborted) {
    const messages = (await receive(state)).filter((message) => isOutsideLoop(state, message));
    if (messages.length > 0) {
      state.busy += 1;
      await runBatch(state, messages);
      state.busy -= 1;
    } else if (state.pollers.size > FIRST_POLLERS) return;
  }
}

async function receive({ client, queueUrl, spec, stopping }: State): Promise<Message[]> {
  const request = new ReceiveMessageCommand({
    QueueUrl: queueUrl,
    MaxNumberOfMessages: spec.batchSize,
    WaitTimeSeconds: POLL_SECONDS,
    MessageAttributeNames: ["All"],
    MessageSystemAttributeNames: ["All"],
  });
  try {
    const { Messages = [] } = await client.send(request, { abortSignal: stopping.signal });
    return Messages;
  } catch {
    // The emulator is restarting, or the event source stops.
    await sleep(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => {});
    return [];
  }
}

/** Lambda runs no message of a recursive loop. It stays in the queue, and SQS moves it to the DLQ after some receives. */
function isOutsideLoop({ spec, log }: State, { MessageId, Attributes }: Message): boolean {
  const isTooLong = chainLength(Attributes?.AWSTraceHeader) >= LONGEST_CHAIN;
  if (isTooLong)
    log(
      `message ${MessageId} of ${spec.queueArn} is the result of ${LONGEST_CHAIN} invocations in a row: Lambda treats that as a recursive loop and does not run the message`,
    );
  return !isTooLong;
}

async function runBatch(state: State, messages: readonly Message[]): Promise<void> {
  const { spec, invoke, removals } = state;
  const outcome = await invoke(sqsEvent(messages, spec.queueArn));
  if (outcome.outcome !== "returned") {
    // A stack that stops ends its functions, and its log is over.
    if (!state.stopping.signal.aborted) sayWhenBack(state, messages.length);
    return;
  }
  const failed = spec.reportsFailures ? failedMessages(outcome.payload, messages) : new Set<string>();
  const done = messages.filter(({ MessageId = "" }) => !failed.has(MessageId));
  if (done.length === 0) return;
  // The next batch does not wait for the deletion: SQS delivers at least once, so a message may come again anyway.
  const removal = remove(state, done).finally(() => removals.delete(removal));
  removals.add(removal);
}

/** A developer who has repaired the function waits for its messages. */
function sayWhenBack({ spec, visibilitySeconds, log }: State, count: number): void {
  const [come, were] = count === 1 ? ["message comes", "it was"] : [`${count} messages come`, "they were"];
  const queue = spec.queueArn.split(":").at(-1);
  log(`${queue}: the ${come} again ${visibilitySeconds} s after ${were} received`);
}

async function remove({ client, queueUrl, spec, log }: State, messages: readonly Message[]): Promise<void> {
  const entries = messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
  try {
    await client.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries: entries }));
  } catch (error) {
    log(`messages of ${spec.queueArn} could not be deleted and will come again: ${errorText(error)}`);
  }
}
