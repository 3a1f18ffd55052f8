import type { Enqueued } from "../protocol/new-job.ts";
import type { Context } from "../protocol/ports.ts";
import { jobJson } from "./job-json.ts";
import type { Answer } from "./route.ts";

/** The headers that an answer of `filed` can have. */
export const FILED_HEADERS = ["Location", "Idempotent-Replayed"] as const;

/** The status of an enqueue: 201 for a new job and for each repeat (`replayed`); 200 if the key had a live job. */
export function statusOf({ outcome }: Enqueued): 200 | 201 {
  return outcome === "created" || outcome === "replayed" ? 201 : 200;
}

/** Answers a call that filed a job: the job, its path, and whether this request or an earlier one filed it. */
export function filed(ctx: Context, enqueued: Enqueued): Answer {
  const { outcome, home } = enqueued;
  const replayed = outcome === "replayed" ? { "idempotent-replayed": "true" } : {};
  return {
    status: statusOf(enqueued),
    body: { ...jobJson(ctx, home), outcome },
    headers: { location: `/jobs/${home.id}`, ...replayed },
  };
}
