import {
  GetEventSourceMappingCommand,
  LambdaClient,
  UpdateEventSourceMappingCommand,
} from "@aws-sdk/client-lambda";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type AwsEndpoint, startAwsEndpoint } from "../../../local/services/aws-endpoint.ts";
import {
  createEventSourceMappings,
  type EventSourceMappings,
  type MappingStates,
} from "../../../local/services/event-source-mappings.ts";
import { jsonFile } from "../../../local/services/json-file.ts";

const NOON = Date.UTC(2026, 2, 12, 12);
const SPEC = {
  uuid: "on",
  enabled: true,
  functionArn: "arn:aws:lambda:us-east-1:000000000000:function:work",
  queueArn: "arn:aws:sqs:us-east-1:000000000000:work",
  batchSize: 10,
  maximumConcurrency: undefined,
  reportsFailures: true,
};

const file = jsonFile<MappingStates>(undefined, {});
let mappings: EventSourceMappings;
let endpoint: AwsEndpoint;
let client: LambdaClient;
let polling: string[];

beforeEach(async () => {
  file.write({});
  await start();
});

afterEach(stop);

async function start(): Promise<void> {
  polling = [];
  mappings = createEventSourceMappings({ file, now: () => NOON });
  endpoint = await startAwsEndpoint(mappings.operations);
  client = new LambdaClient({
    endpoint: endpoint.url,
    region: "us-east-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
  });
  const source = (uuid: string, enabled: boolean) => ({
    spec: { ...SPEC, uuid, enabled },
    start: () => {
      polling.push(uuid);
      return { stop: async () => void polling.splice(polling.indexOf(uuid), 1) };
    },
  });
  mappings.start([source("on", true), source("off", false)]);
}

async function stop(): Promise<void> {
  client.destroy();
  await endpoint.stop();
  await mappings.stop();
}

const enable = (UUID: string, Enabled: boolean) =>
  client.send(new UpdateEventSourceMappingCommand({ UUID, Enabled }));
const stateOf = async (UUID: string) => (await client.send(new GetEventSourceMappingCommand({ UUID }))).State;

test("a mapping starts enabled or disabled as in the template", async () => {
  expect(polling).toEqual(["on"]);
  expect([await stateOf("on"), await stateOf("off")]).toEqual(["Enabled", "Disabled"]);
});

test("disabling a mapping stops its pollers, enabling starts them", async () => {
  expect(await enable("on", false)).toMatchObject({
    UUID: "on",
    State: "Disabled",
    FunctionArn: SPEC.functionArn,
    EventSourceArn: SPEC.queueArn,
    LastModified: new Date(NOON),
    $metadata: { httpStatusCode: 202 },
  });
  await enable("on", false);
  expect(polling).toEqual([]);
  await enable("on", true);
  await enable("on", true);
  expect(polling).toEqual(["on"]);
});

test("a mapping of the changed app answers, and says once for each state that it runs only after a restart", async () => {
  const lines: string[] = [];
  const spec = { ...SPEC, uuid: "new", queueArn: "arn:aws:sqs:us-east-1:000000000000:mail" };
  mappings.expect([spec, { ...SPEC, queueArn: "arn:aws:sqs:us-east-1:000000000000:other" }], (line) =>
    lines.push(line),
  );
  for (const enabled of [false, false, true])
    expect(await enable("new", enabled)).toMatchObject({ UUID: "new", State: "Disabled" });
  await enable("on", false);
  const line = "the consumer of queue mail starts only after a restart";
  expect([lines, polling]).toEqual([[line, line], []]);
});

test("a restart keeps the last state of a mapping", async () => {
  await enable("on", false);
  await enable("off", true);
  await stop();
  await start();
  expect(polling).toEqual(["off"]);
  expect([await stateOf("on"), await stateOf("off")]).toEqual(["Disabled", "Enabled"]);
});

test("an unknown mapping is not found, and Enabled must be a boolean", async () => {
  await expect(enable("none", true)).rejects.toMatchObject({ name: "ResourceNotFoundException" });
  const url = `${endpoint.url}/2015-03-31/event-source-mappings/on`;
  const response = await fetch(url, { method: "PUT", body: '{"Enabled":"no"}' });
  expect([response.status, polling]).toEqual([400, ["on"]]);
});

test("stopping ends all pollers", async () => {
  await enable("off", true);
  await mappings.stop();
  expect(polling).toEqual([]);
});
