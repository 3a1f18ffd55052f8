import type { EventSources } from "../protocol/ports.ts";
import { type Environment, requiredVariable } from "./context.ts";

/** Makes the port that starts and stops Lambda's polling of ready queues. Throws if the variable with the mappings' ids is missing. */
export function createEventSources(environment: Environment = process.env): EventSources {
  const mappings = JSON.parse(requiredVariable(environment, "MINUTEHAND_EVENT_SOURCES")) as Record<
    string,
    string
  >;
  let sources: Promise<EventSources> | undefined;
  return {
    async enable(topic, enabled) {
      sources ??= load(mappings);
      await (await sources).enable(topic, enabled);
    },
  };
}

/** Loads Lambda's client on first use. The client is large, and few topics are ever paused. */
async function load(mappings: Readonly<Record<string, string>>): Promise<EventSources> {
  const [{ lambdaClient }, { lambdaEventSources }] = await Promise.all([
    import("../aws/lambda-client.ts"),
    import("../aws/event-sources.ts"),
  ]);
  return lambdaEventSources({ client: lambdaClient(), mappings });
}
