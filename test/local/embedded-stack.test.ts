import { fileURLToPath } from "node:url";
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { LambdaClient, UpdateEventSourceMappingCommand } from "@aws-sdk/client-lambda";
import { CreateScheduleCommand, GetScheduleCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import {
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedStack, startEmbeddedStack } from "../../local/embedded-stack.ts";

const FIXTURE = fileURLToPath(new URL("fixtures/app/", import.meta.url));

const lines: string[] = [];
let stack: EmbeddedStack;
let sqs: SQSClient;

beforeAll(async () => {
  stack = await startEmbeddedStack({
    port: 0,
    dataDir: "unused",
    memory: true,
    root: FIXTURE,
    environment: { EXTRA: "1" },
    log: (line) => lines.push(line),
  });
  sqs = new SQSClient({ ...stack.platform, endpoint: stack.endpoints.sqs });
});

afterAll(async () => {
  sqs.destroy();
  await stack.stop();
});

const send = (...bodies: string[]) =>
  sqs.send(
    new SendMessageBatchCommand({
      QueueUrl: `${stack.queueUrlPrefix}work`,
      Entries: bodies.map((body, index) => ({ Id: String(index), MessageBody: body })),
    }),
  );

const depth = async (queue: string) => {
  const request = new GetQueueAttributesCommand({
    QueueUrl: `${stack.queueUrlPrefix}${queue}`,
    AttributeNames: ["All"],
  });
  const { Attributes: attributes = {} } = await sqs.send(request);
  return (
    Number(attributes.ApproximateNumberOfMessages) + Number(attributes.ApproximateNumberOfMessagesNotVisible)
  );
};

const said = (text: string) => lines.filter((line) => line.includes(text)).length;

test("functions find the table, the queues and the context as the template says", async () => {
  const response = await fetch(`${stack.url}/anything?a=1`, { method: "POST", body: "hello" });
  expect(response.status).toBe(200);
  const { event, environment }: { event: object; environment: object } = JSON.parse(await response.text());
  expect(event).toMatchObject({ rawPath: "/anything", rawQueryString: "a=1", body: "hello" });
  expect(environment).toEqual({
    table: "demo",
    ready: `${stack.endpoints.sqs}/000000000000/demo-work`,
    prefix: `${stack.endpoints.sqs}/000000000000/demo-`,
    greeting: "hello",
    level: "DEBUG",
    region: "us-east-1",
    secret: "arn:aws:secretsmanager:us-east-1:000000000000:secret:demo-secret",
    source: expect.any(String),
    lambda: stack.endpoints.lambda,
    scheduler: stack.endpoints.scheduler,
    secrets: stack.endpoints.secretsManager,
    events: stack.endpoints.eventBridge,
    url: stack.url,
    loopback: "true",
  });
});

test.each([
  ["/throw", 500, '{"message":"Internal Server Error"}'],
  ["/exit", 500, '{"message":"Internal Server Error"}'],
  ["/hang", 503, '{"message":"Service Unavailable"}'],
  ["/teapot", 418, "short"],
])("%s is answered as API Gateway would", async (path, status, body) => {
  const response = await fetch(stack.url + path);
  expect([response.status, await response.text()]).toEqual([status, body]);
});

test("cookies and binary bodies come through", async () => {
  expect((await fetch(`${stack.url}/teapot`)).headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect([...(await (await fetch(`${stack.url}/binary`)).bytes())]).toEqual([0, 255]);
});

test("bodies above 10 MB are refused", async () => {
  const response = await fetch(stack.url, { method: "POST", body: "x".repeat(10 * 1024 * 1024 + 1) });
  expect(response.status).toBe(413);
});

test("of a batch only the failed messages come again, and end in the DLQ", async () => {
  await send("good-1", "fail", "good-2");
  await expect.poll(() => depth("work_dlq")).toBe(1);
  expect(await depth("work")).toBe(0);
  expect([said("good-1  done"), said("good-2  done"), said("fail  failed")]).toEqual([1, 1, 2]);
});

test("if a function throws, the whole batch comes again", async () => {
  const before = await depth("work_dlq");
  await send("throw", "beside");
  await expect.poll(() => depth("work_dlq")).toBe(before + 2);
});

test("a message that is the result of 16 invocations in a chain is dropped, as by Lambda's recursive loop detection", async () => {
  /** Sends as the SDK does in the invocation that is the last of so many in a chain. */
  const sendAfter = (invocations: number, MessageBody: string) =>
    fetch(stack.endpoints.sqs, {
      method: "POST",
      headers: {
        "x-amz-target": "AmazonSQS.SendMessage",
        "content-type": "application/x-amz-json-1.0",
        "x-amzn-trace-id": `Root=1-0-0;Lineage=1:a87bd80c:${invocations}`,
      },
      body: JSON.stringify({ QueueUrl: `${stack.queueUrlPrefix}work`, MessageBody }),
    });
  const before = await depth("work_dlq");
  for (const invocations of [15, 16])
    expect((await sendAfter(invocations, `after-${invocations}`)).status).toBe(200);
  await expect.poll(() => said("after-15  done")).toBe(1);
  await expect.poll(() => depth("work_dlq")).toBe(before + 1);
  expect(said("after-16  done")).toBe(0);
  expect(said("is the result of 16 invocations in a row")).toBeGreaterThan(0);
});

test("the rule fires at start and when asked", async () => {
  await expect.poll(() => said("ticked source=aws.events")).toBeGreaterThanOrEqual(1);
  // The next minute may begin meanwhile, and fires the rule too.
  const before = said("ticked source=aws.events");
  await stack.tick();
  await expect.poll(() => said("ticked source=aws.events")).toBeGreaterThan(before);
});

test("schedules of the template fire, and schedules that a client creates", async () => {
  await expect.poll(() => said("ticked source=demo.schedule")).toBeGreaterThanOrEqual(1);
  const client = new SchedulerClient({ ...stack.platform, endpoint: stack.endpoints.scheduler });
  const { Target } = await client.send(
    new GetScheduleCommand({ GroupName: "demo-schedules", Name: "Demo-Often" }),
  );
  const made = (name: string, arn = Target?.Arn) =>
    client.send(
      new CreateScheduleCommand({
        Name: name,
        GroupName: "demo-schedules",
        ScheduleExpression: `at(${new Date().toISOString().slice(0, 19)})`,
        FlexibleTimeWindow: { Mode: "OFF" },
        Target: { Arn: arn, RoleArn: Target?.RoleArn, Input: `{"source":"${name}"}` },
      }),
    );
  await made("made");
  await made("astray", `${Target?.Arn}-gone`);
  client.destroy();
  await expect.poll(() => said("ticked source=made")).toBe(1);
  await expect.poll(() => said("-gone, which is no function of the template")).toBe(1);
});

test("an event reaches the queue of the rule that it matches", async () => {
  const client = new EventBridgeClient({ ...stack.platform, endpoint: stack.endpoints.eventBridge });
  const event = { EventBusName: "demo-bus", Source: "demo", DetailType: "Paid", Detail: '{"order":17}' };
  const others = [
    { ...event, DetailType: "Closed" },
    { ...event, EventBusName: "default" },
  ];
  const { FailedEntryCount } = await client.send(new PutEventsCommand({ Entries: [event, ...others] }));
  client.destroy();
  expect(FailedEntryCount).toBe(0);
  await expect.poll(() => said('"detail":{"order":17}}  done')).toBe(1);
});

test("a secret's value follows the template", async () => {
  const client = new SecretsManagerClient({ ...stack.platform, endpoint: stack.endpoints.secretsManager });
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: "demo-secret" }));
  client.destroy();
  expect(SecretString).toMatch(/^[A-Za-z0-9]{44}$/);
});

test("an event source that is disabled takes no messages until it is enabled", async () => {
  const client = new LambdaClient({ ...stack.platform, endpoint: stack.endpoints.lambda });
  const { environment } = JSON.parse(await (await fetch(stack.url)).text());
  const UUID: string = environment.source;
  const enable = (Enabled: boolean) => client.send(new UpdateEventSourceMappingCommand({ UUID, Enabled }));
  await send("before");
  // A message comes twice if its function takes longer to start than the visibility timeout.
  const isDone = (body: string) => expect.poll(() => said(`${body}  done`)).toBeGreaterThan(0);
  await isDone("before");
  expect(await enable(false)).toMatchObject({ UUID, State: "Disabled" });
  // Polls that were under way when the source was disabled each take one message and run none. The test's own poll comes last.
  const request = new ReceiveMessageCommand({ QueueUrl: `${stack.queueUrlPrefix}work`, WaitTimeSeconds: 20 });
  let received = "";
  const receiving = sqs.send(request).then(({ Messages: [message] = [] }) => {
    received = message?.Body ?? "none";
  });
  const sendAnother = async () => {
    await send("held");
    return received;
  };
  await expect.poll(sendAnother).toBe("held");
  await receiving;
  expect(said("held")).toBe(0);
  await send("after");
  expect(await enable(true)).toMatchObject({ State: "Enabled" });
  await isDone("after");
  client.destroy();
});

test("a resource that a service rejects is left out and named", () => {
  expect(said("left out: schedule Demo-Begun: ")).toBe(1);
});

test("a type that is not played is named once", () => {
  expect(said("AWS::Sundial::Gnomon")).toBe(1);
});

test("a function is invoked by a part of its name", async () => {
  expect(await stack.invoke("Tick", { source: "me" })).toMatchObject({ outcome: "returned" });
  await expect(stack.invoke("Function", {})).rejects.toThrow(/must name exactly one function, got 3/);
});
