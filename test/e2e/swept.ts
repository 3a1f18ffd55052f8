import { NEAR } from "../../core/constants.ts";
import type { Api } from "./api.ts";

type Batch = { results: { job: { id: string } }[] };

/** A delay in seconds with which the writer leaves a job to a sweep: a little longer than the delays of jobs that the writer sends. */
export const SWEPT_AFTER = NEAR / 1000 + 3;

const BATCHES = 4;

/** Jobs with the same due time, so many that a sweep must hand over several pages. */
export type Swept = { readonly dueAt: string; readonly ids: readonly string[] };

/** Files the jobs of a `Swept`, due in `SWEPT_AFTER`. */
export async function fileSwept({ call }: Api): Promise<Swept> {
  const dueAt = new Date(Date.now() + SWEPT_AFTER * 1000).toISOString();
  const ids: string[] = [];
  for (let i = 0; i < BATCHES; i++) {
    const jobs = Array.from({ length: 500 }, (_, j) => ({
      topic: "reminders",
      dueAt,
      group: `g${j}`,
      body: { i, j },
    }));
    const { body } = await call<Batch>("POST", "/jobs/batch", { jobs });
    ids.push(...body.results.map(({ job }) => job.id));
  }
  return { dueAt, ids };
}
