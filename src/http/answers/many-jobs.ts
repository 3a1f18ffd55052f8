import * as z from "zod/mini";
import { answer } from "../named.ts";
import { job, jobSummary } from "./jobs.ts";
import { problem } from "./problem.ts";
import { count, status, text, time } from "./values.ts";

const jobOrError = { job: z.exactOptional(jobSummary), error: z.exactOptional(problem) };
const JOB_OR_ERROR = z.meta({ description: "Either `job` or `error`." });

export const batchResults = answer(
  "BatchResults",
  z.object({
    results: z.array(answer("BatchResult", z.object({ status, ...jobOrError }).check(JOB_OR_ERROR))),
  }),
);

export const cancelResults = answer(
  "CancelResults",
  z.object({
    results: z.array(
      answer("CancelResult", z.object({ id: text, status, ...jobOrError }).check(JOB_OR_ERROR)),
    ),
  }),
);

const failure = answer("BulkFailure", z.object({ id: text, problem }));

const counts = {
  dryRun: z.boolean(),
  examined: count,
  matched: count,
  changed: count,
  skipped: z.record(text, count).check(
    z.meta({
      description: "How many matching jobs were not changed, for each error code that says why.",
    }),
  ),
  errors: z
    .array(failure)
    .check(z.meta({ description: "The first ten jobs that were not changed, each with its error." })),
};

export const bulkPart = answer(
  "BulkPart",
  z.object({
    action: answer("BulkAction", z.enum(["cancel", "move", "run", "redrive", "dismiss"])),
    ...counts,
    from: time,
    to: time,
    reached: time.check(z.meta({ description: "The bulk has examined all jobs up to this time." })),
    cursor: z.exactOptional(text),
  }),
);
export type BulkPart = z.output<typeof bulkPart>;

export const erasePart = answer(
  "ErasePart",
  z.object({
    ...counts,
    changed: count.check(z.meta({ description: "How many jobs are erased." })),
    cursor: z.exactOptional(text),
  }),
);
export type ErasePart = z.output<typeof erasePart>;

export const exportPart = answer(
  "ExportPart",
  z.object({
    jobs: z.array(job),
    errors: z.array(failure).check(
      z.meta({
        description:
          "The jobs that cannot be read, each with its error: a newer version wrote them, or their items are damaged.",
      }),
    ),
    examined: count,
    cursor: z.exactOptional(text),
  }),
);
export type ExportPart = z.output<typeof exportPart>;

export const redriven = answer(
  "Redriven",
  z.object({
    redriven: count.check(
      z.meta({ description: "How many jobs this call, or an earlier try of it, has redriven." }),
    ),
    left: count.check(
      z.meta({
        description:
          "How many jobs of the topic are dead now, also those that have died again, counted up to 1,000.",
      }),
    ),
  }),
);
export type Redriven = z.output<typeof redriven>;

export const dismissed = answer(
  "Dismissed",
  z.object({
    dismissed: count,
    left: count,
    errors: z
      .array(failure)
      .check(z.meta({ description: "The jobs that were not dismissed, each with its error." })),
  }),
);
export type Dismissed = z.output<typeof dismissed>;
