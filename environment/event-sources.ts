import { lambdaClient } from "../aws/clients.ts";
import { lambdaEventSources } from "../aws/event-sources.ts";
import type { EventSources } from "../protocol/ports.ts";
import { type Environment, requiredVariable } from "./context.ts";

/** Makes the port that starts and stops Lambda's polling of ready queues. Throws if the variable with the mappings' ids is missing. */
export function createEventSources(environment: Environment = process.env): EventSources {
  const mappings = JSON.parse(requiredVariable(environment, "MINUTEHAND_EVENT_SOURCES")) as Record<
    string,
    string
  >;
  return lambdaEventSources({ client: lambdaClient(), mappings });
}
