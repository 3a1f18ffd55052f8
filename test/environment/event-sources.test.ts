import { expect, it } from "vitest";
import { createEventSources } from "../../src/environment/event-sources.ts";
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

it("names the variable if it is missing", () => {
  expect(() => createEventSources({})).toThrow("environment variable MINUTEHAND_EVENT_SOURCES must be set");
});
