import { setTimeout as sleep } from "node:timers/promises";
import {
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import type { Outcome } from "./execution-environment.ts";
import { errorText } from "./local-error.ts";
import { chainLength, LONGEST_CHAIN } from "./recursive-loop.ts";
import type { EventSourceSpec } from "./resources.ts";
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
  readonly invoke: (event: object) => Promise<Outcome>;
  readonly log: (line: string) => void;
};

/**
 * Invokes a function with the messages of a queue. Each poller receives a batch and invokes the function. A poller receives its next
 * batch only after the invocation, so that no batch waits in a poller. The next receive does not wait for
 * the deletion of the messages that succeeded.
 */
export function startEventSource(spec: EventSourceSpec, dependencies: Dependencies): EventSource {
  const { client, queueUrl, invoke, log } = dependencies;
  const max = Math.min(spec.maximumConcurrency ?? MAX_POLLERS, MAX_POLLERS);
  const stopping = new AbortController();
  const pollers = new Set<Promise<void>>();
  const removals = new Set<Promise<void>>();
  let busy = 0;
  for (let i = 0; i < Math.min(FIRST_POLLERS, max); i++) addPoller();
  const scaler = setInterval(() => {
    if (busy === pollers.size && pollers.size < max) addPoller();
  }, SCALE_EVERY_MS);

  function addPoller(): void {
    const poller = poll().finally(() => pollers.delete(poller));
    pollers.add(poller);
  }

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      const messages = (await receive()).filter(isOutsideLoop);
      if (messages.length > 0) {
        busy += 1;
        await runBatch(messages);
        busy -= 1;
      } else if (pollers.size > FIRST_POLLERS) return;
    }
  }

  async function receive(): Promise<Message[]> {
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

  /**
   * Lambda does not run a message of a recursive loop. The message stays in the queue, and SQS moves it to the DLQ after some
   * receives.
   */
  function isOutsideLoop({ MessageId, Attributes }: Message): boolean {
    const isTooLong = chainLength(Attributes?.AWSTraceHeader) >= LONGEST_CHAIN;
    if (isTooLong)
      log(
        `message ${MessageId} of ${spec.queueArn} is the result of ${LONGEST_CHAIN} invocations in a row: Lambda treats that as a recursive loop and does not run the message`,
      );
    return !isTooLong;
  }

  async function runBatch(messages: readonly Message[]): Promise<void> {
    const outcome = await invoke(sqsEvent(messages, spec.queueArn));
    if (outcome.outcome !== "returned") return;
    const failed = spec.reportsFailures ? failedMessages(outcome.payload, messages) : new Set<string>();
    const done = messages.filter(({ MessageId = "" }) => !failed.has(MessageId));
    if (done.length === 0) return;
    // The next batch does not wait for the deletion: SQS delivers at least once, so a message may come again anyway.
    const removal = remove(done).finally(() => removals.delete(removal));
    removals.add(removal);
  }

  async function remove(messages: readonly Message[]): Promise<void> {
    const entries = messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
    try {
      await client.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries: entries }));
    } catch (error) {
      log(`messages of ${spec.queueArn} could not be deleted and will come again: ${errorText(error)}`);
    }
  }

  return {
    stop: async () => {
      clearInterval(scaler);
      stopping.abort();
      await Promise.all(pollers);
      await Promise.all(removals);
    },
  };
}
