import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { startAwsEndpoint } from "../../local/services/aws-endpoint.ts";
import {
  createEventSourceMappings,
  type MappingStates,
  type StartableSource,
} from "../../local/services/event-source-mappings.ts";
import { jsonFile } from "../../local/services/json-file.ts";
import { lambdaEventSources } from "../../src/aws/event-sources.ts";
import { lambdaClient } from "../../src/aws/lambda-client.ts";
import { eventSourcesContract } from "../contract/event-sources-contract.ts";
import { useEndpoint } from "./emulators.ts";

let end: (() => Promise<unknown>) | undefined;
afterEach(() => end?.());

/**
 * Makes event sources whose client calls a server in place of Lambda's API. The server gives each request the same answer. `asked`: the
 * requests. `error`: the name of an error, which Lambda puts into a header.
 */
async function eventSourcesOn(answer: { status: number; error?: string }) {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    asked.push(`${request.method} ${request.url} ${await text(request)}`);
    response.writeHead(answer.status, answer.error === undefined ? {} : { "x-amzn-errortype": answer.error });
    response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  end = () => new Promise((resolve) => server.close(resolve));
  useEndpoint("LAMBDA", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const mappings = { orders: "c5d1ae5c-0000-4000-8000-123456789012" };
  return { sources: lambdaEventSources({ client: lambdaClient(), mappings }), asked };
}

eventSourcesContract("of the local stack", async () => {
  const file = jsonFile<MappingStates>(undefined, {});
  const mappings = createEventSourceMappings({ file, now: () => Date.UTC(2026, 2, 1) });
  const endpoint = await startAwsEndpoint(mappings.operations);
  const polled = new Set<string>();
  const sourceOf = (uuid: string): StartableSource => ({
    spec: {
      uuid,
      enabled: true,
      functionArn: `arn:aws:lambda:us-east-1:000000000000:function:${uuid}`,
      queueArn: `arn:aws:sqs:us-east-1:000000000000:${uuid}`,
      batchSize: 10,
      maximumConcurrency: undefined,
      reportsFailures: true,
    },
    start() {
      polled.add(uuid);
      return { stop: async () => void polled.delete(uuid) };
    },
  });
  mappings.start([sourceOf("1-mail"), sourceOf("2-orders")]);
  useEndpoint("LAMBDA", endpoint.url);
  const byTopic = { mail: "1-mail", orders: "2-orders" };
  return {
    sources: lambdaEventSources({ client: lambdaClient(), mappings: byTopic }),
    polls: async (topic) => polled.has(byTopic[topic as keyof typeof byTopic]),
    async close() {
      await mappings.stop();
      await endpoint.stop();
    },
  };
});

test("a topic's own event source mapping is enabled and disabled, and a topic without a mapping is ignored", async () => {
  const { sources, asked } = await eventSourcesOn({ status: 202 });
  await sources.enable("orders", false);
  await sources.enable("orders", true);
  await sources.enable("work", false);
  await sources.enable("constructor", false);
  const path = "/2015-03-31/event-source-mappings/c5d1ae5c-0000-4000-8000-123456789012";
  expect(asked).toEqual([`PUT ${path} {"Enabled":false}`, `PUT ${path} {"Enabled":true}`]);
});

test("a change that Lambda rejects throws `unavailable`", async () => {
  const { sources } = await eventSourcesOn({ status: 400, error: "ResourceInUseException" });
  await expect(sources.enable("orders", false)).rejects.toMatchObject({ code: "unavailable" });
});
