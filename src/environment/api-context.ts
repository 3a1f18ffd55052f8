import { API_PATIENCE, withDeadlinePerCall } from "../aws/deadlines.ts";
import { createContext } from "./context.ts";
import { createEventSources } from "./event-sources.ts";
import { createScheduler } from "./scheduler.ts";

/** Call `begin` before each call of the API. One deadline is enough, because Lambda gives each process one call at a time. */
export function createApiContext() {
  const base = createContext();
  const { pool, begin } = withDeadlinePerCall(base.pool, base.clock, API_PATIENCE);
  const eventSources = createEventSources(base.policy);
  return { ctx: { ...base, pool, ...createScheduler(), eventSources }, begin };
}
