import type { EventSources } from "../protocol/ports.ts";
import type { Policy } from "../settings/policy.ts";
import { type Environment, requiredVariable } from "./context.ts";
import { lambdaPort } from "./lambda-port.ts";

/** Starts and stops Lambda's polling of ready queues. */
export function createEventSources(
  policy: Pick<Policy, "topics">,
  environment: Environment = process.env,
): EventSources {
  const text = requiredVariable(environment, "MINUTEHAND_EVENT_SOURCES");
  const sources = lambdaPort(async (client) => {
    const { lambdaEventSources } = await import("../aws/event-sources.ts");
    return lambdaEventSources({ client, mappings: mappingsIn(text, Object.keys(policy.topics)) });
  });
  return {
    async enable(topic, enabled) {
      await (await sources()).enable(topic, enabled);
    },
  };
}

/**
 * The ids of the mappings by topic. `text` has them in the order of the policy's topics, with commas between them. During a deployment
 * Lambda may run this code for a moment with the environment of version 0.1.0, which has an object by topic.
 */
function mappingsIn(text: string, topics: readonly string[]): Record<string, string> {
  const told = JSON.parse(text) as string | Record<string, string>;
  if (typeof told !== "string") return told;
  const ids = told.split(",");
  return Object.fromEntries(topics.flatMap((topic, i) => (ids[i] ? [[topic, ids[i]]] : [])));
}
