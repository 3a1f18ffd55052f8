import type { EventSources } from "../protocol/ports.ts";
import { type Environment, requiredVariable } from "./context.ts";
import { lambdaPort } from "./lambda-port.ts";

/** Starts and stops Lambda's polling of ready queues. */
export function createEventSources(environment: Environment = process.env): EventSources {
  const mappings = JSON.parse(requiredVariable(environment, "MINUTEHAND_EVENT_SOURCES")) as Record<
    string,
    string
  >;
  const sources = lambdaPort(async (client) => {
    const { lambdaEventSources } = await import("../aws/event-sources.ts");
    return lambdaEventSources({ client, mappings });
  });
  return {
    async enable(topic, enabled) {
      await (await sources()).enable(topic, enabled);
    },
  };
}
