import { createHash } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { sqsClient } from "../../src/aws/clients.ts";
import { sqsQueues } from "../../src/aws/queues.ts";
import { numbers } from "../contract/contract-items.ts";
import { useEndpoint } from "./emulators.ts";
import {
  type Answer,
  error,
  ok,
  type Request,
  type ScriptedService,
  scriptedService,
} from "./scripted-service.ts";

type Entry = { Id: string; MessageBody: string };
type Failure = { Code: string; SenderFault: boolean };

const QUEUE = { topic: "orders" };
const UNAVAILABLE = expect.objectContaining({ code: "unavailable" });
const entriesOf = ({ input }: Request): Entry[] => (input.Entries ?? []) as Entry[];
const message = (body: string) => ({ body, delaySeconds: 0 });

let service: ScriptedService | undefined;
afterEach(() => service?.close());

async function queuesOn(script: (request: Request, count: number) => Answer) {
  service = await scriptedService(script);
  useEndpoint("SQS", service.endpoint);
  const counted: unknown[] = [];
  const queues = sqsQueues({
    client: sqsClient(),
    urlPrefix: "https://sqs.us-east-1.amazonaws.com/123456789012/minutehand-",
    onRequest: (operation, messages) => counted.push([operation, messages]),
  });
  return { queues, requests: service.requests, counted };
}

/** The answer of SQS to a batch. Each message is sent, unless `failureOf` answers a failure for its body. */
function batchAnswer(request: Request, failureOf: (body: string) => Failure | undefined): Answer {
  const Successful: object[] = [];
  const Failed: object[] = [];
  for (const { Id, MessageBody } of entriesOf(request)) {
    const failure = failureOf(MessageBody);
    const MD5OfMessageBody = createHash("md5").update(MessageBody).digest("hex");
    if (failure) Failed.push({ Id, Message: "scripted", ...failure });
    else Successful.push({ Id, MessageId: Id, MD5OfMessageBody });
  }
  return ok({ Successful, Failed });
}

test("a queue's URL consists of prefix and topic, its DLQ's URL adds _dlq, and requests go to the client's endpoint", async () => {
  const { queues, requests } = await queuesOn((request) => batchAnswer(request, () => undefined));
  await queues.send(QUEUE, [message("a")]);
  await queues.send({ ...QUEUE, dead: true }, [message("a")]);
  const url = "https://sqs.us-east-1.amazonaws.com/123456789012/minutehand-orders";
  expect(requests.map(({ input }) => input.QueueUrl)).toEqual([url, `${url}_dlq`]);
});

test("the URL of the events' queue cannot be the URL of a topic's queue", async () => {
  const { queues, requests } = await queuesOn(() => ok({ Successful: [{ Id: "0" }], Failed: [] }));
  await queues.hide({ events: true }, [{ handle: "a", seconds: 45 }]);
  expect(requests.map(({ input }) => input.QueueUrl)).toEqual([
    "https://sqs.us-east-1.amazonaws.com/123456789012/minutehand_events",
  ]);
});

test("a message has a MessageGroupId if and only if a group is set", async () => {
  const { queues, requests } = await queuesOn((request) => batchAnswer(request, () => undefined));
  await queues.send(QUEUE, [{ ...message("a"), group: "tenant" }, message("b")]);
  const entries = requests.flatMap((request) => (request.input.Entries ?? []) as object[]);
  expect(entries).toEqual([
    { Id: "0", MessageBody: "a", DelaySeconds: 0, MessageGroupId: "tenant" },
    { Id: "1", MessageBody: "b", DelaySeconds: 0 },
  ]);
});

test.each<[string, Failure, string]>([
  ["its contents", { Code: "InvalidMessageContents", SenderFault: true }, "refused"],
  ["its contents, with SenderFault false", { Code: "InvalidMessageContents", SenderFault: false }, "refused"],
  ["its size", { Code: "InvalidParameterValue", SenderFault: true }, "refused"],
  ["a missing permission", { Code: "AccessDenied", SenderFault: true }, "failing"],
  ["its KMS key", { Code: "KmsAccessDenied", SenderFault: true }, "failing"],
  ["throttling", { Code: "RequestThrottled", SenderFault: true }, "failing"],
  ["an internal error of SQS", { Code: "InternalError", SenderFault: false }, "failing"],
])("a message that fails because of %s does not make the others fail", async (_, failure, outcome) => {
  const { queues } = await queuesOn((request) =>
    batchAnswer(request, (body) => (body === "bad" ? failure : undefined)),
  );
  const sent = await queues.send(QUEUE, [message("a"), message("bad"), message("b")]);
  expect(sent.map((each) => each.outcome)).toEqual(["sent", outcome, "sent"]);
  expect(sent[1]).toMatchObject({ reason: `${failure.Code}: scripted` });
});

test("only the messages that SQS does not take because of an internal error are sent again", async () => {
  const failure = { Code: "InternalError", SenderFault: false };
  const { queues, requests } = await queuesOn((request, count) =>
    batchAnswer(request, (body) => (body === "bad" && count === 1 ? failure : undefined)),
  );
  const sent = await queues.send(QUEUE, [message("a"), message("bad")]);
  expect(sent).toEqual([{ outcome: "sent" }, { outcome: "sent" }]);
  expect(requests.map((request) => entriesOf(request).map((entry) => entry.MessageBody))).toEqual([
    ["a", "bad"],
    ["bad"],
  ]);
});

test("if a batch is refused as a whole because of one message, its messages are sent one by one", async () => {
  const { queues, counted } = await queuesOn((request) =>
    entriesOf(request).some((entry) => entry.MessageBody === "bad")
      ? error(400, "InvalidMessageContents")
      : batchAnswer(request, () => undefined),
  );
  const sent = await queues.send(QUEUE, ["a", "bad", "b"].map(message));
  expect(sent.map(({ outcome }) => outcome)).toEqual(["sent", "refused", "sent"]);
  expect(counted).toEqual([3, 1, 1, 1].map((count) => ["send", count]));
});

test.each<[Answer, string]>([
  [error(400, "QueueDoesNotExist"), "missing"],
  [error(400, "AWS.SimpleQueueService.NonExistentQueue"), "missing"],
  [error(403, "AccessDeniedException"), "failing"],
  [error(400, "KmsDisabled"), "failing"],
  [error(400, "OverLimit"), "failing"],
  [error(403, "RequestThrottled"), "failing"],
  [error(500, "InternalFailure"), "unreachable"],
  [{ status: 503, body: "<html>" }, "unreachable"],
  [error(403, "InvalidClientTokenId"), "unreachable"],
  [error(403, "ExpiredTokenException"), "unreachable"],
  ["cut", "unreachable"],
])("after the answer %o to a request, the outcome of its messages is %s", async (answer, outcome) => {
  const { queues } = await queuesOn(() => answer);
  const sent = await queues.send(QUEUE, [message("a"), message("b")]);
  expect(sent).toEqual([
    { outcome, reason: expect.any(String) },
    { outcome, reason: expect.any(String) },
  ]);
});

test("if one batch for a queue fails, the other batches for that queue are still sent", async () => {
  const { queues } = await queuesOn((request) =>
    entriesOf(request).length < 10 ? error(500, "InternalFailure") : batchAnswer(request, () => undefined),
  );
  const sent = await queues.send(
    QUEUE,
    numbers(0, 12).map((n) => message(`${n}`)),
  );
  expect(sent.map(({ outcome }) => outcome)).toEqual([
    ...numbers(0, 10).map(() => "sent"),
    "unreachable",
    "unreachable",
  ]);
});

test("SQS is unreachable if nothing listens at its endpoint", async () => {
  const { queues } = await queuesOn(() => "cut");
  await service?.close();
  service = undefined;
  expect((await queues.send(QUEUE, [message("a")]))[0]?.outcome).toBe("unreachable");
  const options = { max: 1, waitSeconds: 0, hideSeconds: 1 };
  await expect(queues.receive(QUEUE, options)).rejects.toEqual(UNAVAILABLE);
  await expect(queues.depth(QUEUE)).rejects.toEqual(UNAVAILABLE);
});

test.each(["ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"])(
  "if SQS answers %s for a receipt, the call does not throw",
  async (Code) => {
    const { queues } = await queuesOn(() => ok({ Failed: [{ Id: "0", Code, SenderFault: true }] }));
    await queues.remove(QUEUE, ["a", "b"]);
    await queues.hide(QUEUE, [{ handle: "a", seconds: 1 }]);
  },
);

test("if a batch is refused as a whole because of one receipt, its receipts are tried one by one", async () => {
  const { queues, requests } = await queuesOn((request) =>
    JSON.stringify(request.input).includes("stale") ? error(400, "ReceiptHandleIsInvalid") : ok({}),
  );
  await queues.remove(QUEUE, ["a", "stale", "b"]);
  expect(requests.map((request) => entriesOf(request).length)).toEqual([3, 1, 1, 1]);
});

test("only the receipts with an internal error of SQS are retried, and if the error lasts, the call throws `unavailable`", async () => {
  const failed = ok({ Failed: [{ Id: "1", Code: "InternalError", SenderFault: false }] });
  const passing = await queuesOn((_, count) => (count === 1 ? failed : ok({})));
  await passing.queues.remove(QUEUE, ["a", "b"]);
  expect(passing.requests.map((request) => entriesOf(request).length)).toEqual([2, 1]);
  await service?.close();

  const lasting = await queuesOn(() => failed);
  await expect(lasting.queues.remove(QUEUE, ["a", "b"])).rejects.toEqual(UNAVAILABLE);
  await expect(lasting.queues.hide(QUEUE, [{ handle: "a", seconds: 1 }])).resolves.toBeUndefined();
});

test("a long poll times out later than another request, by the time that SQS may wait", async () => {
  const { queues, requests } = await queuesOn(() => ({ status: 200, body: {}, afterMs: 5300 }));
  expect(await queues.receive(QUEUE, { max: 1, waitSeconds: 1, hideSeconds: 1 })).toEqual([]);
  expect(requests).toHaveLength(1);
});

test("when a batch finds SQS unreachable, the batches that have not begun get the same outcome without a request", async () => {
  const { queues, requests } = await queuesOn(() => error(500, "InternalError"));
  const sent = await queues.send(
    QUEUE,
    numbers(0, 400).map((n) => message(`${n}`)),
  );
  expect(sent).toHaveLength(400);
  expect(new Set(sent.map(({ outcome }) => outcome))).toEqual(new Set(["unreachable"]));
  // Of the forty batches, eight are in flight at once. The SDK tries each of these three times.
  expect(requests.length).toBeLessThanOrEqual(3 * 8);
});
