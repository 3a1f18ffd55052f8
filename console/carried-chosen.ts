import type { BulkResult, JobSummary } from "../src/client/answers.ts";
import type { Call } from "../src/client/call.ts";
import type { Dismissed, Redriven } from "../src/client/client.ts";
import { pathOf } from "../src/client/path-of.ts";
import { MinutehandError, messageOf } from "../src/core/errors.ts";
import { inParallel } from "../src/general/batches.ts";
import type { CarriedLine, Change, Chosen, Left } from "./carried.ts";

/** What a call has done for a line. */
export type Part = Pick<BulkResult, "changed" | "skipped"> & {
  readonly left: readonly Left[];
  readonly reached?: string;
  readonly cursor?: string;
};

/** So few that "Stop" acts soon. */
export const PART_JOBS = 100;
const WIDTH = 8;

type Asked = {
  readonly topic: string;
  readonly jobs: readonly Chosen[];
  /** How many of the line's jobs were tried before. */
  readonly tried: number;
  readonly key: string;
};
type Done = Pick<Part, "changed" | "left">;

/** Does the next part of a line that names its jobs. */
export async function chosenPart(call: Call, change: Change, line: CarriedLine): Promise<Part> {
  const { topic, jobs: all = [] } = line.which;
  const tried = Number(line.cursor ?? 0);
  const jobs = all.slice(tried, tried + PART_JOBS);
  const next = tried + jobs.length;
  const asked = { topic, jobs, tried, key: `${line.key}-${tried}` };
  const part = { redrive, dismiss, move: putBack, run: undefined, cancel: undefined }[change.action];
  if (part === undefined) throw new MinutehandError("bad-request", `${change.action} is not for chosen jobs`);
  const { changed, left } = await part(call, change, asked);
  const codes = [...Map.groupBy(left, ({ code }) => code)];
  return {
    ...{ changed, left, skipped: Object.fromEntries(codes.map(([code, some]) => [code, some.length])) },
    ...(next < all.length && { cursor: String(next) }),
  };
}

async function redrive(call: Call, { ratePerSecond, reason }: Change, asked: Asked): Promise<Done> {
  const { topic, jobs, tried, key } = asked;
  // Each part starts after the ones before it.
  const pace = ratePerSecond === undefined ? {} : { ratePerSecond, delay: Math.floor(tried / ratePerSecond) };
  const ids = jobs.map(({ id }) => id);
  const sent = { body: { ids, ...pace }, query: { reason }, idempotencyKey: key };
  const path = pathOf("/topics/{topic}/redrive", { topic });
  const { redriven } = await call<Redriven>("POST", path, { redriven: "number" }, sent);
  // The answer only counts the others.
  return { changed: redriven, left: redriven === ids.length ? [] : await stillDead(call, ids) };
}

async function stillDead(call: Call, ids: readonly string[]): Promise<Left[]> {
  const shape = { id: "string", state: "string" } as const;
  const jobs = await inParallel(ids, WIDTH, (id) =>
    call<JobSummary>("GET", pathOf("/jobs/{id}", { id }), shape),
  );
  return jobs.flatMap(({ id, key, state }) => {
    if (state !== "dead") return [];
    const why = key === undefined ? "" : `: its key ${JSON.stringify(key)} names another job by now`;
    return { id, code: "job-already-exists", detail: `job ${id} is still dead${why}` };
  });
}

async function dismiss(call: Call, { reason }: Change, { topic, jobs }: Asked): Promise<Done> {
  const sent = { body: { ids: jobs.map(({ id }) => id) }, query: { reason } };
  const path = pathOf("/topics/{topic}/dismiss", { topic });
  const { dismissed, errors } = await call<Dismissed>(
    "POST",
    path,
    { dismissed: "number", errors: "array" },
    sent,
  );
  return { changed: dismissed, left: errors.map(leftOf) };
}

/** The job is no longer as it was seen. */
const LEFT_ALONE = ["changed-meanwhile", "job-finished", "job-not-found", "job-running"];

async function putBack(call: Call, { reason }: Change, { jobs, key }: Asked): Promise<Done> {
  const lefts = await inParallel(jobs, WIDTH, async ({ id, revision = 0, dueAt }): Promise<Left[]> => {
    const sent = { body: { dueAt }, query: { reason }, idempotencyKey: `${key}-${id}` };
    try {
      await call(
        "PATCH",
        pathOf("/jobs/{id}", { id }),
        { id: "string" },
        { ...sent, ifMatch: { id, revision } },
      );
      return [];
    } catch (error) {
      if (!(error instanceof MinutehandError) || !LEFT_ALONE.includes(error.code)) throw error;
      return [{ id, code: error.code, detail: messageOf(error) }];
    }
  });
  const left = lefts.flat();
  return { changed: jobs.length - left.length, left };
}

export function leftOf({ id, problem: { code, detail } }: BulkResult["errors"][number]): Left {
  return { id, code, detail };
}
