import type { SQSClient } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { startEventSource } from "../../../local/functions/event-source.ts";
import type { Outcome } from "../../../local/functions/execution-environment.ts";

const QUEUE = "arn:aws:sqs:us-east-1:0:shop_mail";
const spec = {
  queueArn: QUEUE,
  functionArn: "",
  batchSize: 10,
  reportsFailures: true,
  maximumConcurrency: 1,
};

/** Delivers messages once to a function with this outcome, and answers the lines of the log. */
async function logAfter(outcome: Outcome, ids: readonly string[]): Promise<string[]> {
  const lines: string[] = [];
  const invoked = Promise.withResolvers<void>();
  let batches = [ids.map((id) => ({ MessageId: id, ReceiptHandle: id, Body: "", Attributes: {} }))];
  const send = async (_: object, options?: { abortSignal: AbortSignal }) => {
    const [Messages, ...later] = batches;
    batches = later;
    if (Messages !== undefined || options === undefined) return { Messages };
    // A poll waits for messages until the event source stops.
    invoked.resolve();
    return new Promise((resolve) => options.abortSignal.addEventListener("abort", resolve));
  };
  const source = startEventSource(spec as never, {
    client: { send } as unknown as SQSClient,
    queueUrl: "",
    visibilitySeconds: 90,
    invoke: async () => outcome,
    log: (line) => lines.push(line),
  });
  await invoked.promise;
  await source.stop().catch(() => {});
  return lines;
}

const crashed: Outcome = { outcome: "crashed", error: { errorType: "", errorMessage: "" } };

test("the log says when the messages of a failed invocation come again", async () => {
  expect(await logAfter(crashed, ["a"])).toEqual([
    "shop_mail: the message comes again 90 s after it was received",
  ]);
  expect(await logAfter(crashed, ["a", "b"])).toEqual([
    "shop_mail: the 2 messages come again 90 s after they were received",
  ]);
});

test("an invocation that succeeds logs nothing", async () => {
  expect(await logAfter({ outcome: "returned", payload: "{}" } as Outcome, ["a"])).toEqual([]);
});
