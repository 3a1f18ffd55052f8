import { messageOf } from "../core/errors.ts";
import type { Context, EventSources } from "../protocol/ports.ts";
import { type Environment, requiredVariable } from "./context.ts";
import { lambdaPort } from "./lambda-port.ts";

type Report = Context["report"];

/**
 * Answers a function that turns off the pollers of the topics with `pollers: false`. It does so once for each process, because each
 * deployment starts new ones, and again after a failure.
 */
export function createPollerRemoval(
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
      const { [topic]: mapping } = mappingsIn(environment);
      try {
        if (mapping !== undefined) await (await remover())(mapping);
        left.delete(topic);
      } catch (error) {
        report({ type: "trouble", topic, what: "turning off the pollers", error: messageOf(error) });
      }
    }
  };
}

function mappingsIn(environment: Environment): Record<string, string> {
  return JSON.parse(requiredVariable(environment, "MINUTEHAND_EVENT_SOURCES"));
}

/** Starts and stops Lambda's polling of ready queues. */
export function createEventSources(environment: Environment = process.env): EventSources {
  const mappings = mappingsIn(environment);
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
