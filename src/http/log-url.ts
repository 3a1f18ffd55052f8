import type { Head } from "../core/home.ts";
import { addressOf } from "../core/job-id.ts";
import { inConsole, type Logs, logUrl } from "../settings/log-groups.ts";

/**
 * Empty if the log is unknown, as on the local stack, or if no consumer has claimed the job yet. The search begins when the job was due at
 * first, or when its last run began, if that is earlier.
 */
export function logUrlOf(logs: Logs | undefined, home: Head): { logUrl?: string } {
  const { id, topic, claimedAt } = home;
  const group = logs?.groups[topic];
  if (logs === undefined || group === undefined || claimedAt === undefined) return {};
  return {
    logUrl: logUrl(logs.region, inConsole(group), `"${id}"`, Math.min(addressOf(id).time, claimedAt)),
  };
}
