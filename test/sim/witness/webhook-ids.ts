import type { Call } from "../../../src/consumer/webhook/call.ts";
import type { Policy } from "../../../src/settings/policy.ts";
import type { Court } from "./bench.ts";
import type { KnownJobs } from "./known-jobs.ts";

export type WebhookIds = ReturnType<typeof webhookIdsOf>;

/** Judges the calls of receivers: all attempts must have the same `webhook-id`, and each redrive a new one. */
export function webhookIdsOf({ violate }: Court, jobs: KnownJobs, topics: Policy["topics"]) {
  const notes = jobs.notes(() => ({ callIds: new Map<number, string>(), restarts: 0 }));
  return {
    called(id: string, { url, headers }: Call): void {
      const { home } = jobs.of(id);
      const { callIds, restarts } = notes(id);
      const callId = headers["webhook-id"] ?? "";
      const wanted = home?.callbackUrl ?? topics[home?.topic ?? ""]?.webhook?.url;
      if (url !== wanted) violate("P4", id, `${url} was called, not ${wanted}`);
      const same = callIds.get(restarts) ?? callId;
      const others = [...callIds].filter(([at]) => at !== restarts).map(([, other]) => other);
      if (callId !== same || others.includes(callId))
        violate("webhook-id", id, `${callId} after ${restarts} restarts, and ${same} and ${others} before`);
      callIds.set(restarts, callId);
    },
    isCalled(id: string): boolean {
      const { callIds, restarts } = notes(id);
      return callIds.has(restarts);
    },
    restarted(id: string): void {
      notes(id).restarts += 1;
    },
  };
}
