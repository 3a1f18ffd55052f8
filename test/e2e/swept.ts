import { NEAR } from "../../core/constants.ts";
import type { Api } from "./api.ts";

type Batch = { results: { job: { id: string } }[] };

/** Seconds from now of a job that its writer leaves to a sweep: a little more than what the writer sends itself. */
export const SWEPT_AFTER = NEAR / 1000 + 3;

const BATCHES = 4;

/** Jobs with one due time, of which the sweep has to hand over several pages. */
export type Swept = { readonly dueAt: string; readonly ids: readonly string[] };

/** Files them. */
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
