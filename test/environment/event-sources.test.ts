import { describe, expect, it } from "vitest";
import { createEventSources, createPollerRemoval } from "../../src/environment/event-sources.ts";
import { useEndpoint } from "../aws/emulators.ts";
import { startReceiver } from "../support/receiver.ts";

const ORDERS = "c5d1ae5c-0000-4000-8000-123456789012";
const MAIL = "0f1a2b3c-0000-4000-8000-123456789012";
/** An object orders names that look like numbers first, as the construct does. */
const POLICY = { topics: { work: {}, orders: {}, pull: {}, mail: {}, 7: {} } };

/** The requests to Lambda after each topic was disabled once. */
async function disabledBy(text: string): Promise<string[]> {
  await using lambda = await startReceiver((_, response) => response.writeHead(202).end("{}"));
  useEndpoint("LAMBDA", `http://127.0.0.1:${lambda.port}`);
  const sources = createEventSources(POLICY, { MINUTEHAND_EVENT_SOURCES: text });
  for (const topic of ["work", "orders", "pull", "mail", "7", "unknown"]) await sources.enable(topic, false);
  return lambda.received.map(({ path, body }) => `${path} ${body}`);
}

const requestFor = (id: string) => `/2015-03-31/event-source-mappings/${id} {"Enabled":false}`;

describe("the event source mappings", () => {
  it("are found by the order of the policy's topics, and topics without one are left out", async () => {
    expect(await disabledBy(`",,${ORDERS},,${MAIL}"`)).toEqual([ORDERS, MAIL].map(requestFor));
    expect(await disabledBy(`"${MAIL}"`)).toEqual([requestFor(MAIL)]);
    expect(await disabledBy('""')).toEqual([]);
  });

  it("are read from the environment of version 0.1.0 too, which has their topics' names", async () => {
    expect(await disabledBy(JSON.stringify({ orders: ORDERS }))).toEqual([requestFor(ORDERS)]);
  });

  it("are required", () => {
    expect(() => createEventSources(POLICY, {})).toThrow(
      "environment variable MINUTEHAND_EVENT_SOURCES must be set",
    );
  });
});

it("turns off the pollers of the topics that the environment names, once, and again only after a failure", async () => {
  let status = 400;
  await using lambda = await startReceiver((_, response) => response.writeHead(status).end("{}"));
  useEndpoint("LAMBDA", `http://127.0.0.1:${lambda.port}`);
  const remove = createPollerRemoval(POLICY, {
    MINUTEHAND_EVENT_SOURCES: `",,${ORDERS},,${MAIL}"`,
    MINUTEHAND_NO_POLLERS: "orders,pull",
  });
  const reports: unknown[] = [];
  await remove((report) => void reports.push(report));
  const what = "turning off the pollers";
  expect(reports).toEqual([{ type: "trouble", topic: "orders", what, error: expect.any(String) }]);
  status = 202;
  for (let i = 0; i < 2; i++) await remove((report) => void reports.push(report));
  const asked = `/2015-03-31/event-source-mappings/${ORDERS} {"ProvisionedPollerConfig":{}}`;
  expect(lambda.received.map(({ path, body }) => `${path} ${body}`)).toEqual([asked, asked]);
  expect(reports).toHaveLength(1);
});

it("calls nobody if no topic has pollers to turn off", async () => {
  await createPollerRemoval(POLICY, {})(() => expect.unreachable());
});
