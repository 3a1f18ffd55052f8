import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startAwsEndpoint } from "../../local/services/aws-endpoint.ts";
import { secretsManagerOperations } from "../../local/services/secrets-manager.ts";
import { receiverSecret } from "../../src/consumer/webhook/receiver-secret.ts";
import { writeRunnerRecord } from "../support/runner-record.ts";
import { type } from "./command-line.ts";
import { scriptAccount } from "./scripted-account.ts";

const TOPIC = "A".repeat(44);
const secretFor = (url: string, input: string) => type(undefined, ["receiver-secret", url], { input });

test("receiver-secret derives the secret of one receiver from the topic's secret on stdin", async () => {
  const url = "https://shop.example/hooks";
  const { code, out, err } = await secretFor(url, `${TOPIC}\n`);
  expect({ code, out, err }).toEqual({ code: 0, out: `${receiverSecret(TOPIC, url)}\n`, err: "" });
});

test.each([
  ["https://shop.example", "hunter2!", "a webhook's secret must be base64"],
  ["https://shop.example", "", "give --topic <topic>, or the topic's secret on stdin: stdin is empty"],
  [
    "shop.example",
    TOPIC,
    'a receiver\'s URL must be an http: or https: URL such as https://shop.example/hooks, got "shop.example"',
  ],
])("with %s and %j it says what is wrong, and prints no secret", async (url, input, error) => {
  const { code, out, err } = await secretFor(url, input);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(error);
  if (input !== "") expect(err).not.toContain(input);
});

test("it does not read the topic's secret from a terminal, which would show it", async () => {
  const { code, err } = await type(undefined, ["receiver-secret", "https://shop.example"], {
    terminal: true,
  });
  expect(code).toBe(2);
  expect(err).toContain("stdin must have");
});

/** A local stack whose webhook topic is `callbacks`. It runs in a new folder. */
async function startStack() {
  const versions = [{ id: "1", value: TOPIC, stages: ["AWSCURRENT"], createdAt: 0 }];
  const file = { read: () => ({ "Jobs-Secret": versions }), write: () => {} };
  const place = { region: "us-east-1", account: "0" };
  const endpoint = await startAwsEndpoint(secretsManagerOperations({ ...place, file, now: () => 0 }), {
    key: "of-this-run",
  });
  const folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
  const url = new URL(endpoint.url).origin;
  const data = writeRunnerRecord(folder.path, {
    ...{ url, services: endpoint.url },
    webhookSecrets: { callbacks: "arn:aws:secretsmanager:us-east-1:0:secret:Jobs-Secret" },
  });
  const stop = async () => {
    await endpoint.stop();
    await folder.remove();
  };
  return { folder: folder.path, data, url, [Symbol.asyncDispose]: stop };
}

test("with --topic it takes the current secret of the topic from the local stack, and reads no stdin", async () => {
  const url = "http://127.0.0.1:3000";
  await using stack = await startStack();
  const secretOf = (topic: string) =>
    type(undefined, ["receiver-secret", url, "--topic", topic], { env: {}, folder: stack.folder });
  expect(await secretOf("callbacks")).toMatchObject({
    code: 0,
    out: `${receiverSecret(TOPIC, url)}\n`,
    err: "",
  });
  expect(await secretOf("toString")).toMatchObject({
    code: 1,
    out: "",
    err: 'minutehand: --topic must name a webhook topic of the local stack, got "toString"; it has: callbacks. A topic that is new in the app has its secret after a restart of "minutehand local"\n',
  });
});

const CALLBACKS = ["receiver-secret", "http://127.0.0.1:3000", "--topic", "callbacks"];

test("with --data it takes the secret of the local stack with this data folder, and not of the folder's own", async () => {
  await using stack = await startStack();
  await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
  const typed = { env: { MINUTEHAND_URL: "http://127.0.0.1:2" }, folder: folder.path };
  expect(await type(undefined, [...CALLBACKS, "--data", stack.data], typed)).toMatchObject({
    ...{ code: 0, out: `${receiverSecret(TOPIC, "http://127.0.0.1:3000")}\n`, err: "" },
  });
  expect(await type(undefined, [...CALLBACKS, "--data", "gone"], typed)).toMatchObject({
    ...{ code: 2, out: "" },
    err: expect.stringContaining('--data must be the data folder of a local stack that runs, got "gone"'),
  });
});

test.each([
  [["receiver-secret", "http://127.0.0.1:3000", "--data", "a"], "--data needs --topic"],
  [[...CALLBACKS, "--data", "a", "--stack", "Shop"], "takes either --data or --stack, got both"],
  [[...CALLBACKS, "--data", "a", "--url", "http://a"], "takes either --data or --url, got both"],
])("%j is refused", async (args, error) => {
  expect(await type(undefined, args, { input: TOPIC })).toMatchObject({
    ...{ code: 2, out: "", err: expect.stringContaining(error) },
  });
});

test("it prints no secret of the local stack if MINUTEHAND_URL names another one, unless --url names the local stack", async () => {
  await using stack = await startStack();
  const typed = { env: { MINUTEHAND_URL: "http://127.0.0.1:2" }, folder: stack.folder };
  expect(await type(undefined, CALLBACKS, typed)).toMatchObject({
    ...{ code: 2, out: "" },
    err: expect.stringContaining(
      `MINUTEHAND_URL is not the local stack of ${stack.folder}: give its data folder as --data`,
    ),
  });
  expect((await type(undefined, [...CALLBACKS, "--url", stack.url], typed)).code).toBe(0);
  const same = { ...typed, env: { MINUTEHAND_URL: stack.url } };
  expect((await type(undefined, CALLBACKS, same)).code).toBe(0);
});

test("with --topic it needs a local stack", async () => {
  const { code, err } = await type(undefined, [
    "receiver-secret",
    "https://shop.example",
    "--topic",
    "callbacks",
  ]);
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringContaining("--topic needs --stack, or a local stack"),
  });
});

test("with --topic and --stack it takes the secret of the deployed topic", async () => {
  const url = "https://shop.example";
  const Variables = { MINUTEHAND_WEBHOOK_TOPIC: "callbacks", MINUTEHAND_WEBHOOK_SECRET: { Ref: "Secret1" } };
  const template = {
    Resources: {
      Other: { Type: "AWS::Lambda::Function", Properties: {} },
      Caller: { Type: "AWS::Lambda::Function", Properties: { Environment: { Variables } } },
    },
  };
  const stack = { status: "UPDATE_COMPLETE", outputs: [], template, resources: { Secret1: "arn:secret" } };
  const account = { stacks: { Shop: stack }, secrets: { "arn:secret": TOPIC } };
  await using _ = await scriptAccount(account);
  const secretOf = (topic: string) =>
    type(undefined, ["receiver-secret", url, "--topic", topic, "--stack", "Shop"], { env: {} });
  expect(await secretOf("callbacks")).toMatchObject({
    code: 0,
    out: `${receiverSecret(TOPIC, url)}\n`,
    err: "",
  });
  expect(await secretOf("orders")).toMatchObject({
    code: 1,
    err: 'minutehand: --topic must name a webhook topic of the stack Shop, got "orders"\n',
  });
});

test("with --stack it says how to deploy a stack whose template is YAML", async () => {
  const template = "Description: Minutehand, a serverless delay queue\nResources: {}\n";
  const stack = { status: "UPDATE_COMPLETE", outputs: [], template };
  await using _ = await scriptAccount({ stacks: { Shop: stack } });
  const args = ["receiver-secret", "https://shop.example", "--topic", "callbacks", "--stack", "Shop"];
  expect(await type(undefined, args, { env: {} })).toMatchObject({
    code: 1,
    out: "",
    err: 'minutehand: the template of the stack Shop must be JSON, but begins with "Description: Minutehand, a serverless de": package it with `aws cloudformation package --use-json`, and deploy it again\n',
  });
});
