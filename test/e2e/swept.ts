import { NEAR } from "../../src/core/constants.ts";
import type { Api } from "./api.ts";

type Batch = { results: { job: { id: string } }[] };

/** A delay in seconds with which the writer leaves a job to a sweep: longer than the delays of jobs that the writer sends, also after slow calls. */
export const SWEPT_AFTER = NEAR / 1000 + 30;

const BATCHES = 20;
/** A slow machine also files so many jobs before API Gateway gives up a call. */
const PER_BATCH = 100;

/** Jobs with the same due time, so many that a sweep must hand over several pages. */
export type Swept = { readonly dueAt: string; readonly ids: readonly string[] };

export async function fileSwept({ call }: Api): Promise<Swept> {
  const dueAt = new Date(Date.now() + SWEPT_AFTER * 1000).toISOString();
  const ids: string[] = [];
  for (let i = 0; i < BATCHES; i++) {
    const jobs = Array.from({ length: PER_BATCH }, (_, j) => ({
      topic: "reminders",
      dueAt,
      group: `g${j}`,
      body: { i, j },
    }));
    const { status, body } = await call<Batch>("POST", "/jobs/batch", { jobs });
    if (status !== 200) throw new Error(`POST /jobs/batch answered ${status}: ${JSON.stringify(body)}`);
    ids.push(...body.results.map(({ job }) => job.id));
  }
  return { dueAt, ids };
}
