import { expect, it } from "vitest";
import { createEventSources, createPollerRemoval } from "../../src/environment/event-sources.ts";
import { useEndpoint } from "../aws/emulators.ts";
import { startReceiver } from "../support/receiver.ts";

it("enables the event source mapping that the environment names for a topic", async () => {
  await using lambda = await startReceiver((_, response) => response.writeHead(202).end("{}"));
  useEndpoint("LAMBDA", `http://127.0.0.1:${lambda.port}`);
  const mappings = { orders: "c5d1ae5c-0000-4000-8000-123456789012" };
  const sources = createEventSources({ MINUTEHAND_EVENT_SOURCES: JSON.stringify(mappings) });
  await sources.enable("orders", false);
  expect(lambda.received.map(({ path, body }) => `${path} ${body}`)).toEqual([
    `/2015-03-31/event-source-mappings/${mappings.orders} {"Enabled":false}`,
  ]);
});

it("turns off the pollers of the topics that the environment names, once, and again only after a failure", async () => {
  let status = 400;
  await using lambda = await startReceiver((_, response) => response.writeHead(status).end("{}"));
  useEndpoint("LAMBDA", `http://127.0.0.1:${lambda.port}`);
  const mappings = { orders: "c5d1ae5c-0000-4000-8000-123456789012", mail: "c5d1ae5c-0000-4000-8000-1" };
  const remove = createPollerRemoval({
    MINUTEHAND_EVENT_SOURCES: JSON.stringify(mappings),
    MINUTEHAND_NO_POLLERS: "orders,elsewhere",
  });
  const reports: unknown[] = [];
  await remove((report) => void reports.push(report));
  const what = "turning off the pollers";
  expect(reports).toEqual([{ type: "trouble", topic: "orders", what, error: expect.any(String) }]);
  status = 202;
  for (let i = 0; i < 2; i++) await remove((report) => void reports.push(report));
  const asked = `/2015-03-31/event-source-mappings/${mappings.orders} {"ProvisionedPollerConfig":{}}`;
  expect(lambda.received.map(({ path, body }) => `${path} ${body}`)).toEqual([asked, asked]);
  expect(reports).toHaveLength(1);
});

it("calls nobody if no topic has pollers to turn off", async () => {
  await createPollerRemoval({})(() => expect.unreachable());
});

it("names the variable if it is missing", () => {
  expect(() => createEventSources({})).toThrow("environment variable MINUTEHAND_EVENT_SOURCES must be set");
});
