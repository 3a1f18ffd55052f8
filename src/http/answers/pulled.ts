import * as z from "zod/mini";
import { answer } from "../named.ts";
import { job } from "./jobs.ts";
import { count, ofSchedule, text, time } from "./values.ts";

/** Empty for an untracked job, because its run is not recorded in the table. */
export const settledJob = answer("SettledJob", z.partial(job));

const pulledJob = answer(
  "PulledJob",
  z.object({
    id: text,
    key: z.exactOptional(text),
    receipt: text,
    attempt: count,
    dueAt: time,
    body: z.unknown(),
    headers: z.exactOptional(z.record(text, text)),
    ...ofSchedule,
    traceparent: z.exactOptional(
      text.check(
        z.meta({
          description:
            "The span in which the job was filed (W3C Trace Context). Absent if its caller sent none.",
        }),
      ),
    ),
    leaseUntil: time,
  }),
);
export type PulledJob = z.output<typeof pulledJob>;

export const pulledJobs = answer("PulledJobs", z.object({ jobs: z.array(pulledJob) }));
