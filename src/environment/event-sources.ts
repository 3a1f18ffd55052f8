import { messageOf } from "../core/errors.ts";
import type { Context, EventSources } from "../protocol/ports.ts";
import type { Policy } from "../settings/policy.ts";
import { type Environment, requiredVariable } from "./context.ts";
import { lambdaPort } from "./lambda-port.ts";

type Report = Context["report"];

/**
 * Answers a function that turns off the pollers of the topics with `pollers: false`. It does so once for each process, because each
 * deployment starts new ones, and again after a failure.
 */
export function createPollerRemoval(
  policy: Pick<Policy, "topics">,
  environment: Environment = process.env,
): (report: Report) => Promise<void> {
  const left = new Set(environment.MINUTEHAND_NO_POLLERS?.split(","));
  const remover = lambdaPort(async (client) => {
    const { removePollers } = await import("../aws/event-sources.ts");
    return (mapping: string) => removePollers(client, mapping);
  });
  return async (report) => {
    for (const topic of left) {
      // The tick may not change the mapping of a consumer in another stack.
      const { [topic]: mapping } = mappingsIn(environment, policy);
      try {
        if (mapping !== undefined) await (await remover())(mapping);
        left.delete(topic);
      } catch (error) {
        report({ type: "trouble", topic, what: "turning off the pollers", error: messageOf(error) });
      }
    }
  };
}

/** Starts and stops Lambda's polling of ready queues. */
export function createEventSources(
  policy: Pick<Policy, "topics">,
  environment: Environment = process.env,
): EventSources {
  const mappings = mappingsIn(environment, policy);
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

/**
 * The ids of the mappings by topic. The environment has them in the order of the policy's topics, with commas between them. During a
 * deployment Lambda may run this code for a moment with the environment of version 0.1.0, which has an object by topic.
 */
function mappingsIn(
  environment: Environment,
  { topics }: Pick<Policy, "topics">,
): Readonly<Record<string, string>> {
  const told: string | Record<string, string> = JSON.parse(
    requiredVariable(environment, "MINUTEHAND_EVENT_SOURCES"),
  );
  if (typeof told !== "string") return told;
  const ids = told.split(",");
  return Object.fromEntries(Object.keys(topics).flatMap((topic, i) => (ids[i] ? [[topic, ids[i]]] : [])));
}
