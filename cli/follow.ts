import type { Client, JobSummary } from "../client/client.ts";
import { CLOCK_MARGIN, LIST_JOBS } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { allOf } from "./lists.ts";

/** What is followed, and how closely. Times are ms. */
export type Following = {
  readonly topic?: string;
  /** Jobs due so long ago, and so far ahead. */
  readonly around: number;
  /** Between looks: at least 500, at most 2^31 - 1. What is asked for beyond is cut. */
  readonly every: number;
  readonly clock: () => number;
  readonly wait: (ms: number) => Promise<void>;
  /** Told while the API does not answer, which ends nothing. */
  readonly onTrouble: (error: MinutehandError) => void;
};

type Jobs = ReadonlyMap<string, JobSummary>;

const LEAST_WAIT = 500;
/** A timer that is set for longer rings at once. */
const LONGEST_WAIT = 2 ** 31 - 1;

/** How many of the jobs that have left the list are looked up at a time. */
const LOOKED_UP = 50;

/**
 * Jobs as they change: at first the unfinished ones that are due around now, then each that comes to be so, starts, fails,
 * is moved or ends. Goes on for ever.
 */
export async function* follow(api: Client, following: Following): AsyncIterable<JobSummary> {
  const { clock, wait, onTrouble } = following;
  const every = Math.min(Math.max(following.every, LEAST_WAIT), LONGEST_WAIT);
  let known: Jobs | undefined;
  let lookedAt = 0;
  for (;;) {
    const began = clock();
    try {
      const now = await look(api, following, known ?? new Map());
      const before = known;
      known = now.followed;
      for (const job of now.met) {
        if (before === undefined ? !isFinished(job) : isNews(before.get(job.id), job, lookedAt)) yield job;
      }
      lookedAt = began;
    } catch (error) {
      if (!isTrouble(error)) throw error;
      onTrouble(error);
    }
    await wait(every);
  }
}

/** Everything that is due around now or was and has not ended: what was met, and of that what may change yet. */
async function look(
  api: Client,
  { topic, around, clock }: Following,
  known: Jobs,
): Promise<{ met: JobSummary[]; followed: Jobs }> {
  const [from, to] = [clock() - around, clock() + around];
  const range = { from: new Date(from), to: new Date(to), pageSize: LIST_JOBS };
  const query = { ...range, ...(topic === undefined ? {} : { topic }) };
  const listed = await allOf(api.list(query));
  const followed = new Map(listed.map((job) => [job.id, job]));
  const left = [...known.values()].filter((job) => !followed.has(job.id) && !isFinished(job));
  for (const job of left.slice(LOOKED_UP)) followed.set(job.id, job);
  const looked = await Promise.all(left.slice(0, LOOKED_UP).map(({ id }) => lookUp(api, id)));
  const found = looked.filter((job) => job !== undefined);
  // What was moved far ahead is met again when its time comes.
  for (const job of found) if (!isFinished(job) && Date.parse(job.dueAt) < to) followed.set(job.id, job);
  return { met: [...listed, ...found], followed };
}

/** `undefined` for a job that there is no more. */
async function lookUp(api: Client, id: string): Promise<JobSummary | undefined> {
  try {
    const { body: _, timeline: __, ...job } = await api.get(id);
    return job;
  } catch (error) {
    if (error instanceof MinutehandError && error.code === "job-not-found") return undefined;
    throw error;
  }
}

function isFinished({ state }: JobSummary): boolean {
  return state !== "scheduled" && state !== "running";
}

/** `lookedAt`: when what is not known was not there yet. */
function isNews(before: JobSummary | undefined, job: JobSummary, lookedAt: number): boolean {
  // What had ended before comes into sight with its due time.
  if (before === undefined) return !(Date.parse(job.finishedAt ?? "") < lookedAt - CLOCK_MARGIN);
  return before.state !== job.state || before.revision !== job.revision || before.claimedAt !== job.claimedAt;
}

/** Of the API's or on the way to it, which may be over at the next look. */
function isTrouble(error: unknown): error is MinutehandError {
  if (!(error instanceof MinutehandError)) return false;
  return error.code === "unavailable" || (error.status ?? 0) >= 500;
}
