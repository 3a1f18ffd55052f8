import { afterAll, beforeAll, describe, test } from "vitest";
import type { Queues, Received } from "../../src/protocol/ports.ts";
import { receiveContract } from "./receive-contract.ts";
import { sendContract } from "./send-contract.ts";

/** A difference of an emulator from SQS. Its test must fail: once the emulator is repaired, the suite reports it. */
export type Difference = "drops-groups";

export type OpenQueues = {
  readonly queues: Queues;
  /** Makes a ready queue and its DLQ that no other test uses, and answers with the topic. */
  topic(): Promise<string>;
  groups(topic: string): Promise<(string | undefined)[]>;
  pass(seconds: number): Promise<void>;
  close(): Promise<void>;
};

export type QueuesBench = {
  queues(): Queues;
  topic(): Promise<string>;
  groups(topic: string): Promise<(string | undefined)[]>;
  pass(seconds: number): Promise<void>;
  /** Receives all visible messages, which are then hidden for `hideSeconds`. */
  drain(topic: string, hideSeconds?: number): Promise<Received[]>;
  /** A test that an emulator with this difference fails. */
  unless(difference: Difference, sentence: string, body: () => Promise<void>): void;
};

export function queuesContract(
  name: string,
  open: () => Promise<OpenQueues>,
  differences: readonly Difference[] = [],
): void {
  describe(`the queues ${name}`, () => {
    let opened: OpenQueues;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened?.close());

    const bench: QueuesBench = {
      queues: () => opened.queues,
      topic: () => opened.topic(),
      groups: (topic) => opened.groups(topic),
      pass: (seconds) => opened.pass(seconds),
      async drain(topic, hideSeconds = 600) {
        const all: Received[] = [];
        for (;;) {
          const some = await opened.queues.receive({ topic }, { max: 10, waitSeconds: 0, hideSeconds });
          if (some.length === 0) return all;
          all.push(...some);
        }
      },
      unless(difference, sentence, body) {
        if (differences.includes(difference)) test.fails(`(not here: ${difference}) ${sentence}`, body);
        else test(sentence, body);
      },
    };
    sendContract(bench);
    receiveContract(bench);
  });
}
