import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { lambdaClient } from "../../aws/clients.ts";
import { lambdaEventSources } from "../../aws/event-sources.ts";
import { useEndpoint } from "./emulators.ts";

let end: (() => Promise<unknown>) | undefined;
afterEach(() => end?.());

/** Lambda's control plane, which answers as `answer` says; errors have their name in a header. */
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

test("a topic's own mapping is enabled and disabled, and a topic without one is passed over", async () => {
  const { sources, asked } = await eventSourcesOn({ status: 202 });
  await sources.enable("orders", false);
  await sources.enable("orders", true);
  await sources.enable("work", false);
  await sources.enable("constructor", false);
  const path = "/2015-03-31/event-source-mappings/c5d1ae5c-0000-4000-8000-123456789012";
  expect(asked).toEqual([`PUT ${path} {"Enabled":false}`, `PUT ${path} {"Enabled":true}`]);
});

test("what Lambda does not take is unavailable", async () => {
  const { sources } = await eventSourcesOn({ status: 400, error: "ResourceInUseException" });
  await expect(sources.enable("orders", false)).rejects.toMatchObject({ code: "unavailable" });
});
